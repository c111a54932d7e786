"""A page that shows a run: each block of the tutorial, its tests, their commands and recordings."""
