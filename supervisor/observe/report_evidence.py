"""The evidence on a job's claim, in one line."""

from collections.abc import Iterator, Sequence

from supervisor.model.evidence import Evidence, Necessity, Reach, Strength

MOST_NAMED = 3


def told(evidence: Evidence | None) -> str:
    """`reaches 26 lines (26 before); catches 7 of 7 faults; needs tool.py`; "" if there is none."""
    if evidence is None:
        return ""
    parts = (*_reach(evidence.reach), *_strength(evidence.strength), *_necessity(evidence.necessity))
    return "; ".join(part for part in parts if part)


def _reach(reach: Reach) -> Iterator[str]:
    if reach.lines_after is not None:
        before = f" ({reach.lines_before} before)" if reach.lines_before is not None else ""
        yield f"reaches {reach.lines_after} lines{before}"
    if reach.files:
        yield f"uses {_named(reach.files)}"


def _strength(strength: Strength) -> Iterator[str]:
    if strength.tried:
        before = f" ({strength.caught_before} before)" if strength.caught_before is not None else ""
        yield f"catches {strength.caught} of {strength.tried} faults{before}"
    yield strength.not_tried


def _necessity(necessity: Necessity) -> Iterator[str]:
    if necessity.needed:
        yield f"needs {_named(necessity.needed)}"
    yield necessity.not_tried


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(paths[:MOST_NAMED]) + more
