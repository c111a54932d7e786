"""The tasks of writers: what a tutorial and its tests lack; and the rules for filling a seed.

A task is one of three: a *seed* to fill with commands, a *block* that needs tests, or a *stale* citation.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal

from supervisor.e2e.tutorial.blocks import Block, Seed, parse
from supervisor.e2e.tutorial.check import Report
from supervisor.e2e.tutorial.chunks import universal_newlines
from supervisor.e2e.tutorial.report import diff_of

type Kind = Literal["seed", "block", "stale"]

MAX_SLUG = 40


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to write. Paths are relative to the repository's root."""

    item: str
    kind: Kind
    tutorial: str
    #: the script with the seed or block
    line: int = 0
    section: tuple[str, ...] = ()
    #: its text in the script
    text: str = ""
    #: the folder of the tests
    tests: str = ""
    #: id of the block
    block: str = ""
    #: the test with the stale citation, and the diff from the citation to the script
    test: str = ""
    diff: str = ""
    #: citations that were stale before the task began
    stale_before: int = 0

    def __post_init__(self) -> None:
        for path in (self.tutorial, self.tests, self.test):
            if path.startswith("/") or ".." in PurePosixPath(path).parts or "\0" in path:
                raise ValueError(f"{path} leads out of the repository")


class NotFilled(Exception):
    """Why something is not a filled seed, in a sentence."""


def seed_tasks(script: str, seeds: Iterable[Seed]) -> Iterator[Task]:
    for seed in seeds:
        words = "-".join(re.findall(r"[a-z0-9]+", seed.text.lower()))[:MAX_SLUG].strip("-")
        item = f"seed:{seed.line}-{words}".rstrip("-")
        yield Task(item, "seed", script, line=seed.line, section=seed.section, text=seed.text)


def sync_tasks(script: str, tests: str, report: Report) -> Iterator[Task]:
    """Stale citations first; their blocks need no second task. Citations of removed blocks are left to a person."""
    count = len(report.stale)
    edited = [stale for stale in report.stale if stale.nearest.staleness == "edited"]
    meant = {stale.nearest.block.id for stale in edited if stale.nearest.block}
    for test, stale in {stale.test.id: stale for stale in edited}.items():
        if (block := stale.nearest.block) is not None:
            task = _task("stale", f"stale:{test}", block, script=script, tests=tests, stale=count)
            diffs = (line for each in edited if each.test.id == test for line in diff_of(report, each))
            yield replace(task, test=test, diff="\n".join(diffs))
    for block in report.new_uncited:
        if block.id not in meant:
            yield _task("block", f"block:{block.id}", block, script=script, tests=tests, stale=count)


def _task(kind: Kind, item: str, block: Block, *, script: str, tests: str, stale: int) -> Task:
    return Task(
        item,
        kind,
        script,
        line=block.line,
        section=block.section,
        text=block.text,
        tests=tests,
        block=block.id,
        stale_before=stale,
    )


def proposed(before: str, after: str, task: Task) -> Block:
    """The block that replaced a seed, if nothing else has changed. Raises NotFilled."""
    old, new = (universal_newlines(text).split("\n") for text in (before, after))
    start, rest = task.line - 1, task.line + task.text.count("\n")
    end = len(new) - len(old[rest:])
    if "\n".join(old[start:rest]).strip() != task.text or end < rest:
        raise NotFilled("its seed is missing, or has no command yet")
    if new[:start] != old[:start] or new[end:] != old[rest:]:
        raise NotFilled("it changes other parts of the script than its seed")
    if new[start:rest] != old[start:rest] or end == rest:
        raise NotFilled("the seed's comment was changed, or has no command yet")
    return one_block("\n".join(new[start:end]))


def one_block(text: str) -> Block:
    """Check that a proposal is exactly one block. Raises NotFilled."""
    found = parse(text)
    if found.problems:
        raise NotFilled(f"it can't be parsed as a script: {found.problems[0].message}")
    if len(found.blocks) != 1 or found.seeds or found.headings or found.blocks[0].text != text.strip("\n"):
        raise NotFilled("it is not exactly one block")
    return found.blocks[0]


def accepted(script: str, seed: str, block: str) -> str:
    """The script with a seed replaced by its proposed block. Raises NotFilled."""
    one_block(block)
    found = [each for each in parse(script).seeds if each.text == seed]
    if len(found) != 1:
        count = "there is no seed" if not found else "there is more than one seed"
        raise NotFilled(f"{count} {seed.splitlines()[0]!r} in the script")
    lines = universal_newlines(script).split("\n")
    lines[found[0].line - 1 : found[0].end_line] = block.strip("\n").split("\n")
    return "\n".join(lines)
