"""Which tests belong to which block: by the tutorial where it is given, else by what the tests cite."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.e2e.tutorial import blocks
from supervisor.e2e.tutorial.literals import sections_of
from supervisor.e2e.view.loading import Attempt


@dataclass(slots=True)
class Group:
    """A block of the tutorial and the tests (by number) that cite it."""

    id: str
    text: str
    section: tuple[str, ...] = ()
    line: int = 0
    end_line: int = 0
    waiver: str = ""
    tests: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Grouping:
    groups: list[Group]
    uncited: list[int]  # tests that cite nothing
    stale: list[int]  # tests that cite something that is not in the tutorial


def group(attempts: list[Attempt], tutorial: Path | None) -> Grouping:
    """Every test is somewhere: under each block it cites, under `stale`, or under `uncited`."""
    groups = _blocks_of(tutorial) if tutorial else []
    by_key: dict[str, list[Group]] = defaultdict(list)
    for each in groups:
        by_key[blocks.normalise(each.text)].append(each)
        by_key[each.id].append(each)
    made = Grouping(groups, [], [])
    for number, attempt in enumerate(attempts):
        _place(number, _citations(attempt), by_key, made, is_fixed=tutorial is not None)
    return made


def _place(
    number: int, citations: list[tuple[str, ...]], by_key: dict[str, list[Group]], made: Grouping, *, is_fixed: bool
) -> None:
    if not citations:
        made.uncited.append(number)
    for readings in citations:
        found = next((by_key[reading] for reading in readings if reading in by_key), [])
        if not found and is_fixed:
            made.stale.append(number)
        elif not found:
            found = [Group(id=blocks.block_id(readings[0]), text=readings[0])]
            made.groups.extend(found)
            by_key[readings[0]].extend(found)
        for each in found:
            if number not in each.tests:
                each.tests.append(number)


def _blocks_of(tutorial: Path) -> list[Group]:
    parsed = blocks.parse(tutorial.read_text(encoding="utf-8-sig", errors="replace"))
    return [
        Group(
            id=block.id,
            text=block.text,
            section=block.section,
            line=block.line,
            end_line=block.end_line,
            waiver=block.waiver.reason if block.waiver else "",
        )
        for block in parsed.blocks
    ]


def _citations(attempt: Attempt) -> list[tuple[str, ...]]:
    """What the test cited when it ran and what its docstring quotes; each with all its readings."""
    written = attempt.data.get("citations")
    found: list[tuple[str, ...]] = []
    for citation in written if isinstance(written, list) else []:
        match citation:
            case {"kind": "id", "text": str(text)}:
                found.append((text,))
            case {"kind": "block", "text": str(text)}:
                found.append((blocks.normalise(text),))
    docstring = attempt.data.get("docstring")
    if isinstance(docstring, str):
        sections = (section.readings for section in sections_of(docstring))
        found += [tuple(map(blocks.normalise, readings)) for readings in sections]
    return [readings for readings in found if readings]
