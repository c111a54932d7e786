"""What runs inside of the interpreter under trial, on runs that gather evidence: it imports nothing of ours."""

from functools import cache
from importlib.resources import files


@cache
def source(probe: str) -> str:
    return (files(__name__) / f"{probe}.py").read_text()
