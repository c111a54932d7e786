"""Batches that the daemon submits by itself, and what they leave for the next night."""
