"""A script as chunks: runs of non-empty lines, no command split, and the prologue cut off."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from supervisor.e2e.tutorial.shell import Shell

RECOVERIES = 8  # a script with more unclosed commands than this is split at every blank line

_PROLOGUE = re.compile(
    r"#!.*|(?:set(?:\s+[-+]\w+(?:\s+(?![-+])\w+)?)+|shopt(?:\s+-\w+)?(?:\s+\w+)*)\s*(?:;\s*)?(?:#.*)?"
)
_RULE = re.compile(r"#{4,}\s*|#\s*(?:={4,}|-{4,}|~{4,}|\*{4,})\s*#?\s*")
_HEADING = re.compile(r"(#{2,})\s+(?P<title>[^\s#].*?)\s*#*")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the script that can't be parsed."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines between two separating blank lines."""

    line: int
    lines: tuple[str, ...]

    @property
    def end_line(self) -> int:
        return self.line + len(self.lines) - 1

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()

    @property
    def comments(self) -> tuple[str, ...]:
        """Its lines before the first command, stripped."""
        stripped = tuple(line.strip() for line in self.lines)
        return stripped[: next((i for i, line in enumerate(stripped) if not line.startswith("#")), len(stripped))]

    @property
    def is_comment(self) -> bool:
        return len(self.comments) == len(self.lines)

    def without(self, count: int) -> "Chunk":
        return Chunk(self.line + count, self.lines[count:])


def universal_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split_chunks(text: str) -> tuple[list[Chunk], list[Problem]]:
    """Chunks are separated by blank lines, except inside a quote, a heredoc or a compound command."""
    lines = universal_newlines(text.removeprefix("\ufeff")).split("\n")
    chunks: list[Chunk] = []
    problems: list[Problem] = []
    position = 0
    while position < len(lines):
        if not lines[position].strip():
            position += 1
            continue
        end = _simple_end(lines, position)
        if len(problems) < RECOVERIES:
            end, problem = _chunk_end(lines, position)
            problems += [problem] if problem else []
        chunks.append(Chunk(position + 1, tuple(lines[position:end])))
        position = end
    return chunks, problems


def _simple_end(lines: list[str], position: int) -> int:
    return next((index for index in range(position, len(lines)) if not lines[index].strip()), len(lines))


def _chunk_end(lines: list[str], start: int) -> tuple[int, Problem | None]:
    """Where the chunk ends. A command that is never closed ends at the first blank line, and is a problem."""
    shell = Shell(start)
    for index in range(start, len(lines)):
        if not shell.is_open and not lines[index].strip():
            return index, None
        shell.feed(lines[index])
    if not shell.is_open:
        return len(lines), None
    problem = Problem(shell.opened_at, f"{shell.open_kind} is never closed")
    return _simple_end(lines, shell.opened_at), problem


def cut_prologue(chunks: list[Chunk]) -> list[Chunk]:
    """Drop the `#!` and `set …` lines at the top and comments around them; keep headings and adjacent commands."""
    kept: list[Chunk] = []
    for index, chunk in enumerate(chunks):
        size = _prologue_lines(chunk)
        rest = chunk.without(size)
        if size:
            kept = [earlier for earlier in kept if is_heading(earlier)]
        if rest.lines and (not size or not rest.is_comment or is_heading(rest)):
            kept.append(rest)
        if not rest.is_comment:
            return [*kept, *chunks[index + 1 :]]
    return kept


def _prologue_lines(chunk: Chunk) -> int:
    """How many lines at the top of a chunk are prologue: up to its last `#!` or `set …` before a command."""
    size = 0
    for index, line in enumerate(chunk.lines, start=1):
        if _PROLOGUE.fullmatch(line.strip()):
            size = index
        elif not line.lstrip().startswith("#"):
            break
    return size


def is_heading(chunk: Chunk) -> bool:
    return next(headings_of(chunk), None) is not None


def headings_of(chunk: Chunk) -> Iterator[tuple[int, int, str]]:
    """Cases: `####` rules around a title (level 1), `#### title` (level 1), `## title` (2), `### title` (3)."""
    comments, index = chunk.comments, 0
    while index < len(comments):
        if _RULE.fullmatch(comments[index]):
            end = next(
                (i for i in range(index + 1, len(comments)) if _RULE.fullmatch(comments[i])), len(comments) - 1
            )
            title = next((line.strip("# ") for line in comments[index + 1 : end + 1] if line.strip("# ")), "")
            if title:
                yield index, 1, title
            index = end
        elif heading := _HEADING.fullmatch(comments[index]):
            yield index, len(heading[1]) if len(heading[1]) < 4 else 1, heading["title"]
        index += 1
