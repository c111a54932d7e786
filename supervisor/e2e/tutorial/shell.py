"""Finds where a shell command ends: enough of bash's grammar to know which blank lines are inside one.

Theory of operation. `feed` takes one line at a time and keeps a stack of what is still open: a quote, `$(`, `${`,
`((`, a compound command, a case with its phase. A heredoc's body is read after the line that opens it. Between
tokens two things matter: whether the next word may be a keyword (`done` ends a loop, `echo done` doesn't), and
whether an operator (`|`, `&&`, `name()`) still waits for its command. A blank line ends a block exactly when
`is_open` is false. A syntax error is skipped, or leaves something open, which the caller reports.
"""

import re
from dataclasses import dataclass

LOOPS = {"for": "done", "while": "done", "until": "done", "select": "done"}
CLOSERS = {**LOOPS, "if": "fi", "case": "esac", "{": "}", "[[": "]]"}
BEFORE_KEYWORDS = {"then", "else", "elif", "do", "!", "time", "coproc"}
NESTED = {"$((": "((", "$(": ")", "<(": ")", ">(": ")", "${": "${", '$"': '"'}
OPENED_BY = {closer: opener for opener, closer in CLOSERS.items()} | {"done": "do", ")": "(", "word)": "(", "$'": "'"}

_HEREDOC = re.compile(r"""<<(-?)[ \t]*((?:'[^']*'|"[^"]*"|\\.|[^\s;&|<>()'"\\])+)""")
_COMMAND = re.compile(
    r"""[ \t\r\f\v]+ | \\.? | <<<
    | \$\(\( | \$[({'"] | [<>]\( | ['"`]
    | [<>]& | &> | && | \|[|&]? | ;;&? | ;&? | &
    | \(\( | \([ \t]*\) | [()]
    | [^\s\\'"`$<>()|&;]+ | .""",
    re.VERBOSE | re.DOTALL,
)
_INSIDE = {
    "'": re.compile(r"'"),
    "$'": re.compile(r"\\.?|'"),
    "`": re.compile(r"\\.?|`"),
    '"': re.compile(r'\\.?|"|`|\$\(\(|\$[({]'),
    "${": re.compile(r"\\.?|\}|`|\$\(\(|\$[({']|['\"]"),
    "((": re.compile(r"\\.?|[()]|`|\$\(\(|\$[({]|['\"]"),
}
_PLAIN = re.compile(
    r"[ \t]*(?:#.*|(?!(?:if|for|while|until|select|case|function|time|coproc)\b)[\w./][^\\'\"`$<>()&|;#]*)"
)


@dataclass(slots=True)
class Frame:
    """Something open: `kind` is its closing token, or how it is read."""

    kind: str
    line: int
    in_word: bool = False
    keyword_next: bool = False
    phase: str = ""
    depth: int = 2  # of an arithmetic command, which begins with two parentheses


@dataclass(frozen=True, slots=True)
class Heredoc:
    delimiter: str
    strips_tabs: bool
    line: int


class Shell:
    """The parser's state between two lines."""

    def __init__(self, line: int = 0) -> None:
        self._line = line
        self._stack: list[Frame] = []
        self._heredocs: list[Heredoc] = []
        self._reads_heredoc = False
        self._continued = False
        self._awaited_since = 0  # the line of an operator or a function's name that still needs a command
        self._names_function = False
        self._start_command()

    @property
    def is_open(self) -> bool:
        return bool(self._stack or self._heredocs or self._awaited_since)

    @property
    def opened_at(self) -> int:
        """The line of the outermost thing that is open."""
        lines = [frame.line for frame in self._stack[:1]] + [heredoc.line for heredoc in self._heredocs[:1]]
        return min([*lines, self._awaited_since or self._line])

    @property
    def open_kind(self) -> str:
        """What is open, for messages."""
        if self._stack:
            return OPENED_BY.get(self._stack[0].kind, self._stack[0].kind)
        return f"<<{self._heredocs[0].delimiter}" if self._heredocs else "an operator at the end of a line"

    def feed(self, line: str) -> None:
        self._line += 1
        if self._reads_heredoc:
            self._read_heredoc(line)
            return
        if not self.is_open and not self._continued and _PLAIN.fullmatch(line):
            return
        self._continued = False
        position = 0
        while position < len(line):
            inside = _INSIDE.get(self._kind())
            position = self._read_inside(inside, line, position) if inside else self._read_command(line, position)
        if not self._continued and self._kind() not in _INSIDE:
            self._end_line()

    def _kind(self) -> str:
        return self._stack[-1].kind if self._stack else ""

    def _start_command(self) -> None:
        self._word, self._in_word, self._keyword_next = "", False, True

    def _push(self, kind: str, *, phase: str = "") -> None:
        self._stack.append(Frame(kind, self._line, self._in_word, self._keyword_next, phase))

    def _pop(self) -> None:
        self._stack.pop()

    # Heredocs

    def _read_heredoc(self, line: str) -> None:
        heredoc = self._heredocs[0]
        if (line.lstrip("\t") if heredoc.strips_tabs else line) == heredoc.delimiter:
            self._heredocs.pop(0)
            self._reads_heredoc = bool(self._heredocs)

    # Quotes, expansions, arithmetic

    def _read_inside(self, inside: re.Pattern[str], line: str, position: int) -> int:
        found = inside.search(line, position)
        if found is None:
            return len(line)
        token, frame = found.group(), self._stack[-1]
        if token[0] == "\\":
            return found.end()
        if frame.kind == "((":
            self._read_arithmetic(token, frame, line[found.end() : found.end() + 1])
        elif token == {"${": "}", "$'": "'"}.get(frame.kind, frame.kind):
            self._pop()
        else:
            self._open(token)
        return found.end()

    def _read_arithmetic(self, token: str, frame: Frame, following: str) -> None:
        """Cases: something nests; a parenthesis opens; the last closes; `((` that was two subshells all along."""
        if token not in {"(", ")"}:
            self._open(token)
            return
        frame.depth += 1 if token == "(" else -1
        if frame.depth == 0:
            self._pop()
        elif frame.depth == 1 and token == ")" and following != ")":
            frame.kind = ")"
            self._start_command()

    def _open(self, token: str) -> None:
        """A quote or an expansion begins: it is part of a word, whatever it contains."""
        self._in_word, self._word = True, self._word + "\0"
        kind = NESTED.get(token, token)
        self._push(kind)
        if kind == ")":
            self._start_command()

    # Commands

    def _read_command(self, line: str, position: int) -> int:
        found = _COMMAND.match(line, position)
        assert found is not None  # the last alternative takes any character
        token, end = found.group(), found.end()
        if line.startswith("<<", position) and token != "<<<" and (heredoc := _HEREDOC.match(line, position)):
            self._end_word()
            self._keyword_next = False
            delimiter = re.sub(r"['\"\\]", "", heredoc[2])
            self._heredocs.append(Heredoc(delimiter, bool(heredoc[1]), self._line))
            return heredoc.end()
        if token.isspace():
            self._end_word()
        elif token[0] == "#" and not self._in_word:
            return len(line)
        elif token[0] == "\\":
            self._continued = len(token) == 1
            if not self._continued:
                self._in_word, self._word = True, self._word + "\0"
        elif token in NESTED or token in {"'", '"', "`", "$'"}:
            self._open(token)
        elif token[0] in "();&|<>":
            return self._read_operator(token, position)
        else:
            self._in_word, self._word = True, self._word + token
        return end

    def _read_operator(self, token: str, position: int) -> int:
        """Cases: inside a test, what a parenthesis opens or closes, the next command, a redirection."""
        if self._kind() == "]]" and self._word != "]]":
            self._end_word()
            return position + len(token)
        if token[0] == "(":
            return position + self._open_parenthesis(token)
        self._end_word()
        if token == ")":
            self._close_parenthesis()
        elif token[0] in ";|" or token in {"&&", "&"}:
            self._end_command(token)
        else:
            self._keyword_next = False  # `> if` is a file
        return position + len(token)

    def _open_parenthesis(self, token: str) -> int:
        """Cases: an array or a glob; a function's `()`; a case pattern's own; arithmetic; a subshell."""
        if self._in_word and self._word[-1:] in {"=", "?", "*", "+", "@", "!"}:
            self._push("word)")
            return 1
        if len(token) > 1 and token != "((" and (self._in_word or not self._keyword_next or self._awaited_since):
            self._end_word()
            self._await()
            return len(token)
        self._end_word()
        if self._kind() == "esac" and self._stack[-1].phase == "pattern":
            return 1
        self._awaited_since = 0
        if token == "((":
            self._push("((")
            return 2
        self._push(")")
        self._start_command()
        return 1

    def _close_parenthesis(self) -> None:
        """Cases: closes a parenthesis, with anything unfinished inside; ends a case pattern; matches nothing open."""
        if self._kind() == "esac" and self._stack[-1].phase == "pattern":
            self._stack[-1].phase = "body"
            self._start_command()
            return
        unfinished = 0
        while unfinished < len(self._stack) and self._stack[-1 - unfinished].kind in CLOSERS.values():
            unfinished += 1
        if unfinished < len(self._stack) and self._stack[-1 - unfinished].kind in {")", "word)"}:
            frame = self._stack[-1 - unfinished]
            del self._stack[-1 - unfinished :]
            self._start_command()
            if frame.in_word:
                self._word, self._in_word, self._keyword_next = "\0", True, frame.keyword_next

    def _end_command(self, operator: str) -> None:
        if operator.startswith((";;", ";&")) and self._kind() == "esac":
            self._stack[-1].phase = "pattern"
        if operator[0] == "|" or operator.startswith("&&"):
            in_pattern = self._kind() == "esac" and self._stack[-1].phase == "pattern"
            self._awaited_since = 0 if in_pattern or self._kind() == "word)" else self._awaited_since or self._line
        self._keyword_next = True

    def _await(self) -> None:
        self._awaited_since = self._awaited_since or self._line
        self._keyword_next = True

    def _end_line(self) -> None:
        self._end_word()
        self._keyword_next = True
        self._reads_heredoc = bool(self._heredocs)

    def _end_word(self) -> None:
        if self._in_word:
            word, self._word, self._in_word = self._word, "", False
            self._take_word(word)

    def _take_word(self, word: str) -> None:
        """Cases: a function's name, in an array or a test, a case before its first body, a keyword, another word."""
        frame = self._stack[-1] if self._stack else None
        self._awaited_since = 0
        if self._names_function:
            self._names_function = False
            self._await()
        elif frame and frame.kind in {"word)", "]]"}:
            if word == frame.kind:
                self._pop()
                self._keyword_next = True
        elif frame and frame.kind == "esac" and frame.phase != "body":
            self._take_case_word(frame, word)
        elif self._keyword_next:
            self._take_first_word(frame, word)

    def _take_case_word(self, frame: Frame, word: str) -> None:
        if frame.phase == "pattern" and word == "esac":
            self._pop()
        elif frame.phase == "subject":
            frame.phase = "in"
        elif frame.phase == "in" and word == "in":
            frame.phase = "pattern"

    def _take_first_word(self, frame: Frame | None, word: str) -> None:
        self._keyword_next = word in BEFORE_KEYWORDS or word in {"if", "while", "until", "{"}
        if word == "function":
            self._names_function = True
        elif closer := CLOSERS.get(word):
            self._push(closer, phase="subject" if word == "case" else "")
        elif frame and word == frame.kind and word != ")":
            self._pop()
            self._keyword_next = True  # enough for `fi }` and `done; done`
