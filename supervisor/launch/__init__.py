"""Builds the order for an attempt's agent: the agent contract, its prompt and its command."""
