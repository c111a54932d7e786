"""Evidence on a claim, besides its verdict: the code that the test covers, the faults it catches, the files it needs.

It comes from running the test."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """The lines of the repository that the test executes, without its own; None: not measured."""

    lines_before: int | None = None
    lines_after: int | None = None
    #: places that the test covered before and no longer covers: `tool/cli.py:10-14`
    lost: tuple[str, ...] = ()
    #: files that it opens
    files: tuple[str, ...] = ()
    #: why it was not measured, or only in part
    not_tried: str = ""


@dataclass(frozen=True, slots=True)
class Strength:
    """Mutation testing: how many injected faults of the implementation the test caught."""

    tried: int = 0
    caught: int = 0
    #: how many of the same faults the original test caught
    caught_before: int | None = None
    #: faults that it misses, such as `tool/cli.py:12 returns None`
    survived: tuple[str, ...] = ()
    not_tried: str = ""


@dataclass(frozen=True, slots=True)
class Necessity:
    """Which changed files the fix needs: without them, the test fails."""

    needed: tuple[str, ...] = ()
    #: files that are not needed, and neither tests nor documentation
    unexplained: tuple[str, ...] = ()
    not_tried: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    reach: Reach = Reach()
    strength: Strength = Strength()
    necessity: Necessity = Necessity()
    #: the number of pytest runs for this claim, whatever their purpose
    runs: int = 0
    #: of these, the number that were also runs of another claim, and so cost nothing
    saved: int = 0
    #: whether the test passes by itself, and with the rest of its file; None: not tried
    alone: bool | None = None
    together: bool | None = None
