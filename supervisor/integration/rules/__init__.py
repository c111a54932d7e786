"""The rules of integration: which changes are merged, in which order, with which messages and ledger rows. Pure."""
