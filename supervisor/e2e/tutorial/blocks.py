"""A tutorial script as blocks: runs of non-empty lines, never splitting a command.

`docs/tutorial-blocks.md` defines every case. Parsing never fails: what can't be parsed is listed in `problems`.
"""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from supervisor.e2e.tutorial.chunks import Chunk, Problem, cut_prologue, headings_of, split_chunks, universal_newlines

_CONTINUATION = re.compile(r"[ \t]*\\\n[ \t]*")
_DIRECTIVE = re.compile(r"#\s*e2e:\s*(?P<verb>\w*)(?P<rest>.*)")
_SKIP = re.compile(r"\((?P<reason>.*?)(?:,\s*until\s+(?P<until>\d{4}-\d{2}-\d{2}))?\)\s*")


@dataclass(frozen=True, slots=True)
class Waiver:
    """Why a block may stay uncited, and until when."""

    line: int
    reason: str
    until: date | None

    def is_valid(self, today: date) -> bool:
        return self.until is None or today <= self.until


@dataclass(frozen=True)
class Block:
    """Consecutive non-empty lines with at least one command: what a test has to cite."""

    id: str
    slug: str
    line: int
    end_line: int
    section: tuple[str, ...]
    text: str
    waiver: Waiver | None = None

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0]

    @cached_property
    def key(self) -> str:
        return normalise(self.text)

    @cached_property
    def commands(self) -> tuple[str, ...]:
        """Its logical command lines: continuations folded, comments left out."""
        return tuple(line for line in self.key.split("\n") if not line.startswith("#"))


@dataclass(frozen=True, slots=True)
class Seed:
    """Comments without a command yet: something the tutorial is to show."""

    line: int
    end_line: int
    section: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    line: int
    level: int
    section: tuple[str, ...]


@dataclass(frozen=True)
class Tutorial:
    blocks: tuple[Block, ...]
    seeds: tuple[Seed, ...] = ()
    headings: tuple[Heading, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def empty_sections(self) -> tuple[Heading, ...]:
        """Headings without a block or seed before the next heading of the same or a higher level."""
        sections = {block.section for block in self.blocks} | {seed.section for seed in self.seeds}
        filled = {section[:depth] for section in sections for depth in range(len(section) + 1)}
        return tuple(heading for heading in self.headings if heading.section not in filled)


def normalise(text: str) -> str:
    """The text that is compared: lines stripped, blank and `# e2e:` lines dropped, continuations folded."""
    lines = (line.strip() for line in _CONTINUATION.sub(" ", universal_newlines(text)).split("\n"))
    return "\n".join(line for line in lines if line and not _DIRECTIVE.match(line))


def slug_of(key: str) -> str:
    """The words of the first command, shortened: the readable part of an id."""
    command = next((line for line in key.split("\n") if not line.startswith("#")), key)
    slug = ""
    for word in re.findall(r"[a-z0-9]+", command.lower()):
        if len(slug) + len(word) > 39:
            break
        slug = f"{slug}-{word}" if slug else word
    return slug or "block"


def block_id(key: str) -> str:
    """Slug and short hash of a normalised text: independent of the block's position."""
    return f"{slug_of(key)}-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def parse(text: str) -> Tutorial:
    """Never raises: `problems` lists what can't be parsed."""
    chunks, problems = split_chunks(text)
    return _Reader(problems).read(cut_prologue(chunks))


class _Reader:
    """Walks the chunks in order and tracks the current section."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._blocks: list[Block] = []
        self._seeds: list[Seed] = []
        self._headings: list[Heading] = []
        self._open: list[Heading] = []
        self._ids: Counter[str] = Counter()

    def read(self, chunks: list[Chunk]) -> Tutorial:
        for chunk in chunks:
            self._read(chunk)
        return Tutorial(
            tuple(self._blocks),
            tuple(self._seeds),
            tuple(self._headings),
            tuple(sorted(self._problems, key=lambda p: p.line)),
        )

    @property
    def _section(self) -> tuple[str, ...]:
        return self._open[-1].section if self._open else ()

    def _read(self, chunk: Chunk) -> None:
        """Cases: a block, a heading, prose or only a directive, a seed."""
        headed = self._read_headings(chunk)
        waiver, is_prose = self._read_directives(chunk)
        if not chunk.is_comment:
            self._add_block(chunk, waiver)
        elif not headed and not is_prose and normalise(chunk.text).strip("#\n "):
            self._seeds.append(Seed(chunk.line, chunk.end_line, self._section, chunk.text))

    def _add_block(self, chunk: Chunk, waiver: Waiver | None) -> None:
        key = normalise(chunk.text)
        identity = block_id(key)
        self._ids[identity] += 1
        repeated = f"~{self._ids[identity]}" if self._ids[identity] > 1 else ""
        self._blocks.append(
            Block(identity + repeated, slug_of(key), chunk.line, chunk.end_line, self._section, chunk.text, waiver)
        )

    def _read_headings(self, chunk: Chunk) -> bool:
        found = list(headings_of(chunk))
        for offset, level, title in found:
            while self._open and self._open[-1].level >= level:
                self._open.pop()
            self._open.append(Heading(chunk.line + offset, level, (*self._section, title)))
            self._headings.append(self._open[-1])
        return bool(found)

    def _read_directives(self, chunk: Chunk) -> tuple[Waiver | None, bool]:
        waiver, is_prose = None, False
        for offset, line in enumerate(chunk.lines):
            if not (directive := _DIRECTIVE.fullmatch(line.strip())):
                continue
            is_prose |= directive["verb"] == "prose"
            if directive["verb"] == "skip":
                waiver = self._waiver(chunk.line + offset, directive["rest"])
            elif directive["verb"] != "prose":
                self._problems.append(Problem(chunk.line + offset, f"unknown directive: {line.strip()}"))
        return waiver, is_prose

    def _waiver(self, line: int, rest: str) -> Waiver | None:
        skip = _SKIP.fullmatch(rest)
        try:
            if skip and skip["reason"].strip():
                return Waiver(
                    line, skip["reason"].strip(), date.fromisoformat(skip["until"]) if skip["until"] else None
                )
        except ValueError:
            pass
        self._problems.append(
            Problem(line, "a waiver reads `# e2e: skip(reason)` or `# e2e: skip(reason, until 2031-12-31)`")
        )
        return None
