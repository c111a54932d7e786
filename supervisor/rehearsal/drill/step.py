"""What a drill tells: one line for each step."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    #: "": it concerns all pools
    pool: str
    name: str
    ok: bool
    seconds: float
    #: what was seen; for a failure, what it means
    detail: str = ""
    #: for a failure: what to do
    hint: str = ""
