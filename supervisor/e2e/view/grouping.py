"""Groups tests by block: by the tutorial if it is given, else by the tests' citations."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.e2e.tutorial import blocks
from supervisor.e2e.tutorial.literals import sections_of
from supervisor.e2e.tutorial.matching import Matcher
from supervisor.e2e.view.loading import Attempt, strings


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
    """Every test is listed: under each block it cites, under `stale`, or under `uncited`. With a tutorial, citations
    match as in the check of the tutorial; without one, each cited text is a block."""
    if tutorial is None:
        return _by_citations(attempts)
    parsed = blocks.parse(tutorial.read_text(encoding="utf-8-sig", errors="replace"))
    matcher = Matcher(parsed.blocks)
    by_block = {id(block): _group_of(block) for block in parsed.blocks}
    made = Grouping(list(by_block.values()), [], [])
    for number, attempt in enumerate(attempts):
        found = [matcher.found(form, readings) for form, readings in _citations(attempt)]
        if not found:
            made.uncited.append(number)
        if not all(found):
            made.stale.append(number)
        for block in {id(block): block for cited in found for block in cited}.values():
            by_block[id(block)].tests.append(number)
    return made


def _by_citations(attempts: list[Attempt]) -> Grouping:
    groups: dict[str, Group] = {}
    made = Grouping([], [], [])
    for number, attempt in enumerate(attempts):
        cited = [blocks.normalise(readings[0]) for _, readings in _citations(attempt)]
        if not cited:
            made.uncited.append(number)
        for text in dict.fromkeys(cited):
            groups.setdefault(text, Group(id=blocks.block_id(text), text=text)).tests.append(number)
    made.groups.extend(groups.values())
    return made


def _group_of(block: blocks.Block) -> Group:
    return Group(
        id=block.id,
        text=block.text,
        section=block.section,
        line=block.line,
        end_line=block.end_line,
        waiver=block.waiver.reason if block.waiver else "",
    )


def _citations(attempt: Attempt) -> list[tuple[str, tuple[str, ...]]]:
    """The citations in its source, by form, each with all its readings. If the source is unknown: what the test cited
    when it ran, and what its docstring quotes."""
    written = attempt.data.get("cites")
    if isinstance(written, list):
        return [
            (form, readings)
            for each in written
            if isinstance(each, dict) and isinstance(form := each.get("form"), str)
            if (readings := tuple(strings(each.get("readings"))))
        ]
    return [*_said(attempt.data.get("citations")), *_quoted(attempt.data.get("docstring"))]


def _said(written: object) -> Iterator[tuple[str, tuple[str, ...]]]:
    for citation in written if isinstance(written, list) else []:
        match citation:
            case {"kind": "id" | "block" as kind, "text": str(text)} if text:
                yield ("id" if kind == "id" else "call"), (text,)


def _quoted(docstring: object) -> Iterator[tuple[str, tuple[str, ...]]]:
    if not isinstance(docstring, str):
        return
    if docstring.lstrip().startswith("#"):
        yield "docstring", (docstring,)
        return
    for section in sections_of(docstring):
        if section.readings:
            yield "docstring", tuple(section.readings)
