"""Reading what agents write: the new lines of a file, what a line says, and what of it may be kept."""
