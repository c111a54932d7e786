"""Tests for command-line tools made from a tutorial: run commands, check what they say, record what is seen.

Stands alone: imports nothing else of this project, so a target repository can use it as a pytest plugin.
"""
