"""Which changes go into the branch, in which order, under which words, and what the ledger says of each. Pure."""
