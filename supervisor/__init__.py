"""A daemon that puts a coding agent on every end-to-end test. Start reading at daemon/loop.py."""

__version__ = "0.1.0"
