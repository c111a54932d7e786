"""A tutorial script and the tests that prove it: blocks, citations, and the check in both directions.

Standard library only (pytest only in `pytest_item`), so that a target repository can run the check anywhere.
"""
