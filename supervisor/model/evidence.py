"""What runs have shown of a claim, beside its verdict: how far the test reaches, what it catches, what it needs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """What the test executes of the repository, its own code excluded; None where it was not measured."""

    lines_before: int | None = None
    lines_after: int | None = None
    #: places that the test reached before and does not reach now: `tool/cli.py:10-14`
    lost: tuple[str, ...] = ()
    #: files that it opens
    files: tuple[str, ...] = ()
    #: why it was not measured, or not wholly
    not_tried: str = ""


@dataclass(frozen=True, slots=True)
class Strength:
    """How many small faults of the implementation the test caught, of those that were tried."""

    tried: int = 0
    caught: int = 0
    #: what the test as it was caught of the same faults
    caught_before: int | None = None
    #: faults that it passes, as `tool/cli.py:12 returns None`
    survived: tuple[str, ...] = ()
    not_tried: str = ""


@dataclass(frozen=True, slots=True)
class Necessity:
    """Which files of a fix the verdict needs: left out, the test fails."""

    needed: tuple[str, ...] = ()
    #: neither needed nor a test nor documentation
    unexplained: tuple[str, ...] = ()
    not_tried: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    reach: Reach = Reach()
    strength: Strength = Strength()
    necessity: Necessity = Necessity()
    #: how many times pytest was run for this claim, whatever for
    runs: int = 0
    #: whether the test passes when it is run by itself, and with the rest of its file; None: it was not tried
    alone: bool | None = None
    together: bool | None = None
