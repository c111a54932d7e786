"""Readers of the state and of events."""
