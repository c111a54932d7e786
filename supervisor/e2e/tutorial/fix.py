"""Rewrites stale citations in place: same form, indentation and quotes, verified by parsing them again."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from supervisor.e2e.tutorial.blocks import Block
from supervisor.e2e.tutorial.check import Report
from supervisor.e2e.tutorial.chunks import universal_newlines
from supervisor.e2e.tutorial.citations import Citation, Test, read_tests
from supervisor.e2e.tutorial.literals import Literal
from supervisor.e2e.tutorial.matching import Matcher

BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Fix:
    """One file, before and after."""

    path: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        lines = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(*lines, self.path, self.path))

    def write(self) -> None:
        """Keeps the file's byte order mark and its kind of line ends."""
        with Path(self.path).open(encoding="utf-8", newline="") as file:
            old = file.read()
        new = self.after.replace("\n", "\r\n") if "\r\n" in old else self.after
        with Path(self.path).open("w", encoding="utf-8", newline="") as file:
            file.write(BOM * old.startswith(BOM) + new)


def fixes(report: Report) -> Iterator[Fix]:
    """One fix per file that cites an edited block. A citation of a removed block is left to a person."""
    matcher = Matcher(report.tutorial.blocks)
    for path in dict.fromkeys(stale.test.path for stale in report.stale if stale.nearest.staleness == "edited"):
        before = universal_newlines(Path(path).read_text(encoding="utf-8-sig"))
        after = fixed(before, path, matcher)
        if after != before:
            yield Fix(path, before, after)


def fixed(source: str, path: str, matcher: Matcher) -> str:
    """A file's source with updated citations, one at a time because lines move."""
    given_up: set[tuple[str, int]] = set()
    while found := _next_stale(source, path, matcher, given_up):
        test, index, block = found
        candidate = _replaced(source, test.citations[index], block)
        if candidate is None or not _proves(candidate, path, test.name, index, matcher):
            given_up.add((test.name, index))
        else:
            source = candidate
    return source


def _next_stale(
    source: str, path: str, matcher: Matcher, given_up: set[tuple[str, int]]
) -> tuple[Test, int, Block] | None:
    for test in read_tests(source, path):
        for index, citation in enumerate(test.citations):
            if (test.name, index) in given_up or matcher.blocks_of(citation):
                continue
            nearest = matcher.nearest(citation)
            if nearest.block and nearest.staleness == "edited":
                return test, index, nearest.block
    return None


def _proves(source: str, path: str, name: str, index: int, matcher: Matcher) -> bool:
    """The rewritten file is Python, and the citation in it now equals a block."""
    try:
        again = next((each for each in read_tests(source, path) if each.name == name), None)
    except (SyntaxError, ValueError):
        return False
    return again is not None and index < len(again.citations) and bool(matcher.blocks_of(again.citations[index]))


def _replaced(source: str, citation: Citation, block: Block) -> str | None:
    """The source with the citation's literal replaced; None if its form does not allow that."""
    literal = citation.literal
    lines = source.split("\n")
    if citation.form == "id":
        written = f'"{block.id}"'
    elif citation.section is None:
        written = _call(literal, block.text, _indent(lines[literal.line - 1]))
    elif (docstring := _docstring(citation, block.text)) is not None:
        written = docstring
    else:
        return None
    head, tail = lines[literal.line - 1][: literal.column], lines[literal.end_line - 1][literal.end_column :]
    return "\n".join([*lines[: literal.line - 1], head + written + tail, *lines[literal.end_line :]])


def _call(literal: Literal, text: str, margin: str) -> str:
    """A new literal; one without inner lines to copy the indentation from gets the default style."""
    inner = (literal.inner or "").split("\n")
    is_block = len(literal.quote) == 3 and len(inner) > 1
    indent = next((_indent(line) for line in inner[1:] if line.strip()), margin) if is_block else f"{margin}    "
    end = inner[-1] if is_block and not inner[-1].strip() else margin
    starts_flush = is_block and bool(inner[0].strip(" \\"))
    body = _indented(text, indent)
    lines = [body[0].strip(), *body[1:], end] if starts_flush else ["", *body, end]
    return _written(literal, "\n".join(lines), quote=literal.quote if is_block else '"""', keeps_escapes=False)


def _docstring(citation: Citation, text: str) -> str | None:
    """The docstring with the lines of one section replaced, keeping the blank lines after them."""
    literal, section = citation.literal, citation.section
    if section is None or literal.inner is None or len(literal.quote) != 3:
        return None
    lines = literal.inner.split("\n")
    old = lines[section.start : section.end]
    filled = [number for number, line in enumerate(old) if line.strip()]
    if not filled:
        return None
    new = _indented(text, _indent(old[filled[0]]))
    after = old[filled[-1] + 1 :]
    if section.end == len(lines) and not after:
        after = [_indent(lines[section.start - 1]) if section.start > 1 else ""]
    escapes = "\\" in "".join([*lines[: section.start], *after, *lines[section.end :]])
    body = _doubled(new) if escapes and not literal.is_raw else new
    inner = "\n".join([*lines[: section.start], *body, *after, *lines[section.end :]])
    return _written(literal, inner, quote=literal.quote, keeps_escapes=escapes)


def _written(literal: Literal, inner: str, *, quote: str, keeps_escapes: bool) -> str:
    """Raw if a backslash needs it, and with the other quotes if the text contains these."""
    if quote in inner:
        quote = "'''" if quote == '"""' else '"""'
    is_raw = literal.is_raw or ("\\" in inner and not keeps_escapes)
    return f"{(literal.prefix if literal.is_raw else 'r') if is_raw else ''}{quote}{inner}{quote}"


def _doubled(lines: list[str]) -> list[str]:
    return [line.replace("\\", "\\\\") for line in lines]


def _indented(text: str, indent: str) -> list[str]:
    return [indent + line if line.strip() else "" for line in text.split("\n")]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
