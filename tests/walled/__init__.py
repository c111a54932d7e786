"""Agents of this machine inside of walls, on the real mngr and tmux."""
