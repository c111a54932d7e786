"""One page that shows a run: each block of the tutorial, its tests, what they ran and what was seen."""
