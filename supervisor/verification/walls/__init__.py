"""Walls around what agents wrote, when it runs on this machine."""
