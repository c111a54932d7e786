"""The check's result as text for people and as JSON for programs."""

import difflib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from supervisor.e2e.tutorial.blocks import Block, Seed, Tutorial
from supervisor.e2e.tutorial.check import Cited, Report, Stale

SHOWN = 120  # characters of a line


def as_text(report: Report) -> str:
    return "\n".join(_text_lines(report))


def _text_lines(report: Report) -> Iterator[str]:
    for problem in report.tutorial.problems:
        yield f"{report.script}:{problem.line}: {problem.message}"
    for unreadable in report.unreadable:
        yield f"{unreadable.path}:{unreadable.line}: {unreadable.message}"
    for block in report.uncited:
        yield f"{report.script}:{block.line}: {excuse(report, block)}uncited: {_short(command_of(block))}"
    for test in report.uncited_tests:
        yield f"{test.path}:{test.line}: {_baselined(test.id in report.allowed.tests)}cites no block: {test.name}"
    for test, rejected in report.rejected:
        yield f"{test.path}:{rejected.line}: {test.name}: {rejected.message}"
    for stale in report.stale:
        yield f"{stale.test.path}:{stale.citation.line}: stale: {stale.test.name}: {meaning(report, stale)}"
        yield from (f"    {line}" for line in diff_of(report, stale))
    yield summary(report)


def summary(report: Report) -> str:
    baselined = (
        len(report.uncited) - len(report.new_uncited) + len(report.uncited_tests) - len(report.new_uncited_tests)
    )
    unhappy = len({cited.block.id for cited in report.cited if cited.test.conduct.is_unhappy})
    return (
        f"{len(report.tutorial.blocks)} blocks: {report.cited_blocks} cited ({unhappy} with an unhappy path), "
        f"{len(report.uncited)} uncited, {len(report.waived)} waived; {len(report.tutorial.seeds)} seeds; "
        f"{len(report.tests)} tests: {len(report.citing_tests)} citing, {len(report.uncited_tests)} not, "
        f"{len(report.stale)} stale citations" + (f"; {baselined} gaps in the baseline" if baselined else "")
    )


def excuse(report: Report, block: Block) -> str:
    """Why an uncited block is allowed, or was until its waiver expired."""
    if block.waiver and block.waiver.until:
        return f"waiver expired on {block.waiver.until}: "
    return _baselined(block.id in report.allowed.blocks)


def _baselined(is_baselined: bool) -> str:
    return "(baseline) " if is_baselined else ""


def meaning(report: Report, stale: Stale) -> str:
    nearest = stale.nearest
    if nearest.block is None:
        return "no block is like it"
    what = "the block was edited" if nearest.staleness == "edited" else "the block is gone; the nearest is"
    return f"{what} ({report.script}:{nearest.block.line}, {nearest.ratio:.0%} alike)"


def diff_of(report: Report, stale: Stale) -> list[str]:
    """The diff from the citation to the block's current text; empty if the block is gone."""
    block = stale.nearest.block
    if block is None or stale.nearest.staleness == "gone":
        return []
    wanted = [block.id] if stale.citation.form == "id" else [line.strip() for line in block.text.split("\n")]
    cited = [line.strip() for line in stale.citation.readings[0].strip().split("\n")]
    names = f"{stale.test.path}:{stale.citation.line}", f"{report.script}:{block.line}"
    return list(difflib.unified_diff(cited, wanted, *names, lineterm=""))


def command_of(block: Block) -> str:
    """Its first command, by which people recognise a block."""
    return block.commands[0] if block.commands else block.first_line


def _short(line: str) -> str:
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"


def as_json(report: Report, *, now: datetime) -> dict[str, Any]:
    """The public shape of `tutorial check --json`: fields may be added, never renamed."""
    return {
        "schema_version": 1,
        "as_of": now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "script": report.script,
        "blocks": len(report.tutorial.blocks),
        "cited": report.cited_blocks,
        "uncited": [_uncited(report, block) for block in report.uncited],
        "waived": [_waived(block) for block in report.waived],
        "stale": [_stale(report, stale) for stale in report.stale],
        "rejected": [
            {"path": test.path, "line": rejected.line, "test": test.id, "message": rejected.message}
            for test, rejected in report.rejected
        ],
        "seeds": len(report.tutorial.seeds),
        "empty_sections": len(report.tutorial.empty_sections),
        "tests": len(report.tests),
        "citing_tests": len(report.citing_tests),
        "matched_tests": report.matched_tests,
        "uncited_tests": len(report.uncited_tests),
        "uncited_test_ids": [test.id for test in report.uncited_tests],
        "problems": _problems(report),
        "by_block": [
            {"block": identity, "tests": [_citing(cited) for cited in citing]}
            for identity, citing in report.by_block.items()
        ],
        "by_test": _by_test(report),
    }


def _uncited(report: Report, block: Block) -> dict[str, Any]:
    return {
        "line": block.line,
        "first_line": block.first_line,
        "id": block.id,
        "section": list(block.section),
        "baseline": block.id in report.allowed.blocks,
    }


def _waived(block: Block) -> dict[str, Any]:
    waiver = block.waiver
    assert waiver is not None  # waived blocks have one
    until = waiver.until.isoformat() if waiver.until else None
    return {"line": block.line, "id": block.id, "reason": waiver.reason, "until": until}


def _stale(report: Report, stale: Stale) -> dict[str, Any]:
    block = stale.nearest.block
    return {
        "path": stale.test.path,
        "line": stale.citation.line,
        "test": stale.test.id,
        "form": stale.citation.form,
        "kind": stale.nearest.staleness,
        "ratio": round(stale.nearest.ratio, 3),
        "nearest": {"id": block.id, "line": block.line} if block else None,
        "diff": "\n".join(diff_of(report, stale)),
    }


def _citing(cited: Cited) -> dict[str, Any]:
    return {
        "test": cited.test.id,
        "path": cited.test.path,
        "line": cited.citation.line,
        "form": cited.citation.form,
        "fidelity": cited.fidelity,
        "label": cited.test.conduct.label,
    }


def _by_test(report: Report) -> list[dict[str, Any]]:
    found: dict[str, list[str]] = {test.id: [] for test in report.tests}
    for cited in report.cited:
        found[cited.test.id].append(cited.block.id)
    return [{"test": test.id, "line": test.line, "blocks": found[test.id]} for test in report.tests]


def _problems(report: Report) -> list[dict[str, Any]]:
    return [
        *({"path": report.script, "line": each.line, "message": each.message} for each in report.tutorial.problems),
        *({"path": each.path, "line": each.line, "message": each.message} for each in report.unreadable),
    ]


def blocks_json(script: str, tutorial: Tutorial) -> dict[str, Any]:
    """The public shape of `tutorial blocks --json`."""
    return {
        "schema_version": 1,
        "script": script,
        "blocks": [
            {
                "id": block.id,
                "slug": block.slug,
                "line": block.line,
                "end_line": block.end_line,
                "section": list(block.section),
                "first_line": block.first_line,
                "commands": list(block.commands),
                "text": block.text,
                "waiver": block.waiver.reason if block.waiver else None,
            }
            for block in tutorial.blocks
        ],
        "seeds": [
            {"line": seed.line, "end_line": seed.end_line, "section": list(seed.section), "text": seed.text}
            for seed in tutorial.seeds
        ],
        "empty_sections": [
            {"line": heading.line, "section": list(heading.section)} for heading in tutorial.empty_sections
        ],
        "problems": [{"line": problem.line, "message": problem.message} for problem in tutorial.problems],
    }


def blocks_text(tutorial: Tutorial) -> str:
    """One line per block and seed, under their sections."""
    lines: list[str] = []
    section: tuple[str, ...] = ()
    items: list[Block | Seed] = [*tutorial.blocks, *tutorial.seeds]
    for item in sorted(items, key=lambda each: each.line):
        if item.section != section:
            section = item.section
            lines += ["", " › ".join(section)]
        name = f"{item.id}  {_short(command_of(item))}" if isinstance(item, Block) else f"seed  {_short(item.text)}"
        lines.append(f"{item.line:>5}-{item.end_line:<5} {name.replace(chr(10), ' ')}")
    lines += [f"{problem.line:>5}       problem: {problem.message}" for problem in tutorial.problems]
    counts = (
        f"{len(tutorial.blocks)} blocks, {len(tutorial.seeds)} seeds, {len(tutorial.empty_sections)} empty sections"
    )
    return "\n".join([*lines, "", counts]).lstrip("\n")
