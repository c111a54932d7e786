"""Runs a setup once for what it is made of, and lays what it left into later checkouts."""
