"""Notes which files of a checkout the programs of a run open or execute, in any language, as the kernel reports."""
