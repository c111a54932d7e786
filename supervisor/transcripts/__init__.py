"""Reads agents' transcripts: the new lines of a file, the entries of a line, and their redaction."""
