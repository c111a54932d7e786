"""Which files of a checkout the programs of a run open or execute, in whatever language they are, as the kernel tells it."""
