"""Makes branches in a bare repository, without a work tree. Blocking: run it in a thread."""
