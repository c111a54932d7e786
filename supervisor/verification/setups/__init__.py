"""Runs a setup once for the same inputs, and lays what it left into later checkouts."""
