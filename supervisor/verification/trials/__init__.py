"""Runs tests in fresh checkouts, as an agent would run them, and collects their results."""
