"""Offers a branch to people for review."""
