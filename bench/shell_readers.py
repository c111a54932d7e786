"""What two parsers find in a shell script: ours, and tree-sitter-bash if it is installed."""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from supervisor.e2e.tutorial.shell import _PLAIN, BEFORE_KEYWORDS, CLOSERS, Shell

SHEBANG = re.compile(rb"#! *(?:/usr)?(?:/local)?/bin/(?:env +)?(?:ba|da)?sh\b")
#: keywords, which are not commands
KEYWORDS = {*CLOSERS, *CLOSERS.values(), *BEFORE_KEYWORDS, "do", "function", "time", "coproc", "in"} - {"[["}
#: a command that begins with a redirection is not compared: for our parser its name is another word
_NO_WORD = re.compile(rf"\d*[<>]|(?:{'|'.join(map(re.escape, KEYWORDS))})(?=[\s;]|$)")


class Place(NamedTuple):
    """Row and column, from 0."""

    row: int
    column: int


@dataclass
class Seen:
    """What a parser found in a script."""

    #: blank lines inside a command
    open_at: set[int] = field(default_factory=set)
    heredocs: set[Place] = field(default_factory=set)
    comments: set[Place] = field(default_factory=set)
    words: set[Place] = field(default_factory=set)


class Watched(Shell):
    """Our parser, which also records what it skips."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = Seen()
        self._begins = Place(0, 0)
        self._outer: dict[int, Place] = {}

    def feed(self, line: str) -> None:
        if self.is_open and not line.strip():
            self.seen.open_at.add(self._line)
        is_plain = not self.is_open and not self._continued and not self._reads_heredoc and _PLAIN.fullmatch(line)
        super().feed(line)
        if is_plain and line.strip():
            place = Place(self._line - 1, len(line) - len(line.lstrip()))
            (self.seen.comments if line.lstrip()[0] == "#" else self.seen.words).add(place)

    def _push(self, kind: str, *, phase: str = "") -> None:
        super()._push(kind, phase=phase)
        self._outer[len(self._stack)] = self._begins

    def _pop(self) -> None:
        self._begins = self._outer[len(self._stack)]
        super()._pop()

    def _close_parenthesis(self) -> None:
        depth = len(self._stack)
        super()._close_parenthesis()
        if self._in_word and len(self._stack) < depth:
            self._begins = self._outer[len(self._stack) + 1]

    def _read_command(self, line: str, position: int) -> int:
        asked, here = len(self._heredocs), Place(self._line - 1, position)
        if not self._in_word:
            self._begins = here
            if line[position] == "#":
                self.seen.comments.add(here)
        end = super()._read_command(line, position)
        if len(self._heredocs) > asked:
            self.seen.heredocs.add(Place(here.row, 0))
        return end

    def _take_first_word(self, frame: Any, word: str) -> None:
        if word not in KEYWORDS:
            self.seen.words.add(self._begins)
        super()._take_first_word(frame, word)


def ours(text: str) -> Seen:
    shell, lines = Watched(), text.split("\n")
    for line in lines:
        shell.feed(line)
    shell.seen.words = {at for at in shell.seen.words if not _NO_WORD.match(lines[at.row], at.column)}
    return shell.seen


class Theirs:
    """tree-sitter-bash; raises ImportError if it is not installed."""

    def __init__(self) -> None:
        sitter, grammar = importlib.import_module("tree_sitter"), importlib.import_module("tree_sitter_bash")
        self._language = sitter.Language(grammar.language())
        self._parser: type[Any] = sitter.Parser

    def __call__(self, text: str) -> Seen:
        root = self._parser(self._language).parse(text.encode("latin-1")).root_node
        seen, lines = Seen(), text.split("\n")
        for child in root.children:
            rows = range(child.start_point[0] + 1, child.end_point[0] + (child.end_point[1] > 0))
            seen.open_at |= {row for row in rows if not lines[row].strip()}
        for node in _walk(root):
            at = Place(*node.start_point)
            if node.type == "comment":
                seen.comments.add(at)
            elif node.type == "heredoc_redirect":
                seen.heredocs.add(Place(at.row, 0))
            elif _is_first_word(node) and not _NO_WORD.match(lines[at.row], at.column):
                seen.words.add(at)
        return seen


def _walk(root: Any) -> Iterator[Any]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in node.children if not _is_backquoted(child)]


def _is_backquoted(node: Any) -> bool:
    """bash parses its content only when it runs it, and so do we."""
    return bool(node.type == "command_substitution" and node.children[0].type == "`")


def _is_first_word(node: Any) -> bool:
    """Cases: an assignment alone or before a command; a function's name; a command or a similar node."""
    parent = node.parent.type if node.parent else ""
    if node.type in ("variable_assignment", "variable_assignments"):
        return parent not in ("variable_assignments", "command", "declaration_command", "c_style_for_statement")
    if node.type == "function_definition":
        return bool(node.children) and node.children[0].type == "word"
    if node.type == "test_command":
        return bool(node.children) and node.children[0].type in ("[", "[[")
    return node.type in ("command", "declaration_command", "unset_command")
