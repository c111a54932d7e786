"""Gathers evidence on a claim: what its test reaches, what it catches, which files it needs, what it knows."""
