"""git: the store of the daemon's own repositories, and merging in them without a work tree."""
