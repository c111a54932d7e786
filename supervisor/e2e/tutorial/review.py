"""Decisions on proposed blocks, in a separate file, so that accepting a block does not change its text.

`tutorial.sh` has `tutorial.review.json` beside it: by block id, its state, its seed, and the job that proposed it.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

type Decision = Literal["drafted", "accepted", "rejected"]
DECISIONS: tuple[str, ...] = get_args(Decision.__value__)


class BadReview(Exception):
    """The file is not a review file."""


@dataclass(frozen=True, slots=True)
class Entry:
    state: Decision
    seed: str
    job: str


@dataclass(slots=True)
class Review:
    path: Path
    blocks: dict[str, Entry]

    @classmethod
    def of(cls, script: Path) -> "Review":
        """A missing file is an empty review."""
        path = script.with_suffix(".review.json")
        if not path.exists():
            return cls(path, {})
        try:
            said = json.loads(path.read_text(encoding="utf-8"))["blocks"]
            blocks = {block: Entry(**entry) for block, entry in said.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise BadReview(f"{path} is not a review file: {problem!r}") from problem
        if unknown := {entry.state for entry in blocks.values()} - set(DECISIONS):
            raise BadReview(f"{path} has an unknown state: {unknown.pop()}")
        return cls(path, blocks)

    @property
    def undecided_seeds(self) -> set[str]:
        return {entry.seed for entry in self.blocks.values() if entry.state == "drafted"}

    def note(self, block: str, entry: Entry) -> bool:
        """Add an entry; returns whether it changes anything. A draft never replaces a decision."""
        known = self.blocks.get(block)
        if known == entry or (known and known.state != "drafted" and entry.state == "drafted"):
            return False
        self.blocks[block] = entry
        blocks = {name: asdict(self.blocks[name]) for name in sorted(self.blocks)}
        text = json.dumps({"schema_version": 1, "blocks": blocks}, indent=2, ensure_ascii=False)
        self.path.write_text(text + "\n", encoding="utf-8")
        return True
