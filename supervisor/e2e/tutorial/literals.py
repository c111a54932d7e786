"""String literals of a source file, and the `Tutorial block:` sections in them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LITERAL = re.compile(r"""(?P<prefix>[rRuU]?)(?P<quote>'{3}|"{3}|'|")(?P<inner>.*)(?P=quote)""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_TUTORIAL = re.compile(r"\s*tutorial blocks?\s*(?:\([^)]*\)\s*)?:\s*(?P<rest>.*)", re.IGNORECASE)
_HEADER = re.compile(r"[A-Z][A-Za-z ]*:")


@dataclass(frozen=True, slots=True)
class Literal:
    """A string constant: its position, its value, and its source (None for joined pieces)."""

    line: int
    column: int
    end_line: int
    end_column: int
    value: str
    source: str
    prefix: str = ""
    quote: str = ""
    inner: str | None = None

    @property
    def is_raw(self) -> bool:
        return self.prefix in {"r", "R"}

    @property
    def texts(self) -> tuple[str, ...]:
        """Its readings without repeats: as Python evaluates it, as written, and with shell continuations kept."""
        if self.inner is None:
            return (self.value,)
        both = (self.inner, self.value) if "\n" in self.inner else (self.value, self.inner)
        return tuple(dict.fromkeys((*both, *self._with_continuations())))

    def _with_continuations(self) -> tuple[str, ...]:
        """Python drops `\\` and newline from a non-raw literal: evaluate it again with the backslash doubled."""
        if self.is_raw or "\\\n" not in self.source:
            return ()
        doubled = _ESCAPE.sub(lambda found: "\\\\\n" if found[1] == "\n" else found[0], self.source)
        return (str(ast.literal_eval(doubled)),)


@dataclass(frozen=True, slots=True)
class Section:
    """A `Tutorial block:` section: lines `start` to `end` of its text, and a reading for each possible end."""

    start: int
    end: int
    readings: tuple[str, ...]


def literal_of(node: ast.Constant, lines: list[str]) -> Literal:
    """The literal behind a string constant, from the lines of its file."""
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    rows = lines[node.lineno - 1 : end_line]
    rows[-1] = _upto(rows[-1], end_column)
    column = len(_upto(rows[0], node.col_offset))
    source = "\n".join([rows[0][column:], *rows[1:]])
    where = (node.lineno, column, end_line, len(rows[-1]))
    found = _LITERAL.fullmatch(source)
    if found is None or found["quote"] in _ESCAPE.sub("", found["inner"]):
        return Literal(*where, str(node.value), source)
    return Literal(*where, str(node.value), source, found["prefix"], found["quote"], found["inner"])


def _upto(row: str, octets: int) -> str:
    """`ast` counts columns in UTF-8 bytes."""
    return row[:octets] if row.isascii() else row.encode()[:octets].decode()


def sections_of(text: str) -> Iterator[Section]:
    """The `Tutorial block:` sections of a docstring."""
    lines = _dedented(text.split("\n"))
    headers = [index for index, line in enumerate(lines) if _TUTORIAL.fullmatch(line)]
    for number, index in enumerate(headers):
        limit = headers[number + 1] if number + 1 < len(headers) else len(lines)
        yield _section(lines[:limit], index)


def _dedented(lines: list[str]) -> list[str]:
    """Remove the common indentation, except of the first line, which has none. Tabs are kept."""
    margin = min((_indent(line) for line in lines[1:] if line.strip()), default=0)
    return [lines[0].lstrip(), *(line[margin:] for line in lines[1:])]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _section(lines: list[str], header: int) -> Section:
    """An indented section ends where the indentation does; a flush one at the next `Capitalised words:`.

    Every later end is a reading, too, because a block may itself contain a line such as `Note: …`.
    """
    found = _TUTORIAL.fullmatch(lines[header])
    rest = found["rest"].strip() if found else ""
    first = ([] if not rest or rest.startswith("(") else [rest]) if rest else []
    start = header + 1
    body = next((line for line in lines[start:] if line.strip()), "")
    is_indented = _indent(body) > _indent(lines[header])
    ends = [i for i in range(start, len(lines)) if _HEADER.match(lines[i])]
    if is_indented:
        outside = (
            i for i in range(start, len(lines)) if lines[i].strip() and _indent(lines[i]) <= _indent(lines[header])
        )
        ends.insert(0, next(outside, len(lines)))
    ends.append(len(lines))
    readings = tuple(dict.fromkeys("\n".join([*first, *lines[start:end]]) for end in ends))
    return Section(start, ends[0], readings)
