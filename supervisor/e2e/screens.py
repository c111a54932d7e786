"""The screen of a terminal: pyte's, plus the alternate screen that full-screen programs use."""

import re
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pyte
from pyte.screens import Char

from supervisor.e2e.ptys import Size

_ALTERNATE = (47, 1047, 1049)
_APPLICATION_CURSOR_KEYS = 1 << 5  # pyte keeps private modes shifted by five bits


class Emulator(pyte.Screen):
    """A pyte screen that saves the main screen while the alternate one is shown, and answers queries."""

    def __init__(self, size: Size, answer: Callable[[str], None] | None = None) -> None:
        self._answer = answer
        self._first: tuple[Any, Any] | None = None
        super().__init__(size.columns, size.lines)

    def set_mode(self, *modes: int, **options: Any) -> None:
        if options.get("private") and any(mode in _ALTERNATE for mode in modes) and self._first is None:
            self._first = deepcopy(self.buffer), deepcopy(self.cursor)
            self.erase_in_display(2)
        super().set_mode(*modes, **options)

    def reset_mode(self, *modes: int, **options: Any) -> None:
        super().reset_mode(*modes, **options)
        if options.get("private") and any(mode in _ALTERNATE for mode in modes) and self._first is not None:
            self.buffer, self.cursor = self._first
            self._first = None
            self.dirty.update(range(self.lines))

    def write_process_input(self, data: str) -> None:
        if self._answer is not None:
            self._answer(data)

    @property
    def has_application_cursor_keys(self) -> bool:
        return _APPLICATION_CURSOR_KEYS in self.mode


class _Tolerant:
    """pyte fails on sequences with unknown parameters; like a terminal, ignore them."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def __getattr__(self, name: str) -> Callable[..., None]:
        method = getattr(self._emulator, name)

        def call(*arguments: Any, **options: Any) -> None:
            with suppress(TypeError, ValueError, LookupError, NameError):
                method(*arguments, **options)

        return call


@dataclass(frozen=True, slots=True)
class Cell:
    """One character of a screen and its style; colours are names or six hexadecimal digits."""

    text: str
    foreground: str
    background: str
    is_bold: bool
    is_reversed: bool


class Screen:
    """A terminal's screen: feed it output, read its text."""

    def __init__(self, size: Size, answer: Callable[[str], None] | None = None) -> None:
        self.emulator = Emulator(size, answer)
        self._stream = pyte.Stream(_Tolerant(self.emulator))  # type: ignore[arg-type]

    def feed(self, text: str) -> None:
        self._stream.feed(text)

    def resize(self, size: Size) -> None:
        self.emulator.resize(size.lines, size.columns)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line.rstrip() for line in self._padded)

    @property
    def _padded(self) -> list[str]:
        """pyte's own `display` fails where half of a wide character was overwritten."""
        emulator = self.emulator
        return [
            "".join(emulator.buffer[line][column].data for column in range(emulator.columns))
            for line in range(emulator.lines)
        ]

    @property
    def output(self) -> str:
        """The visible text, without trailing empty lines."""
        return "\n".join(self.lines).rstrip("\n")

    def search(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """Search for a pattern; trailing spaces, as of a prompt, count."""
        return re.search(pattern, self.output) or re.search(pattern, "\n".join(self._padded))

    @property
    def cursor(self) -> tuple[int, int]:
        """Line and column, from 0."""
        return self.emulator.cursor.y, self.emulator.cursor.x

    def cell(self, line: int, column: int) -> Cell:
        char: Char = self.emulator.buffer[line][column]
        return Cell(char.data, char.fg, char.bg, char.bold, char.reverse)

    def __repr__(self) -> str:
        return f"<Screen {self.emulator.columns}x{self.emulator.lines}>"
