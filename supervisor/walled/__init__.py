"""Walls around agents of this machine, for as long as they live."""
