"""Runs tests in fresh checkouts, as an agent would run them, and hears what came of each."""
