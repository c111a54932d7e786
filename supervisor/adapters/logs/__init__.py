"""One stream of structured lines per attempt: what its agent said and did, and what it has taken."""
