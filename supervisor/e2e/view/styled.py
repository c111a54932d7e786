"""Coloured text as runs `[text, foreground, background, flags]`, from terminal escapes or from a terminal's screen.

A colour is `#rrggbb`, or "" for the page's default; every escape that is not a colour or a style is removed, so that
none of a hostile program reaches the reader's clipboard, terminal or page.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

type Run = tuple[str, str, str, int]

BOLD, DIM, ITALIC, UNDERLINE, STRIKE = 1, 2, 4, 8, 16
NAMED = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
_SIXTEEN = (
    *("#2e3436", "#cc3333", "#3a9a3a", "#b8860b", "#3465a4", "#8b5a9a", "#0f8f94", "#c8ccc4"),
    *("#7c807a", "#ef5350", "#66c94a", "#e0c341", "#6f9fd8", "#b98ac4", "#3fcbd1", "#f4f4f2"),
)
_ESCAPE = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]*)m"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # other control sequences
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\Z)"  # titles, links, and other strings
    r"|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]",
    re.DOTALL,
)
_FLAGS = {1: BOLD, 2: DIM, 3: ITALIC, 4: UNDERLINE, 9: STRIKE}
_UNSET = {22: BOLD | DIM, 23: ITALIC, 24: UNDERLINE, 29: STRIKE}


def palette(number: int) -> str:
    """One of the 256 colours."""
    if number < 16:
        return _SIXTEEN[number]
    if number >= 232:
        level = 8 + 10 * (number - 232)
        return f"#{level:02x}{level:02x}{level:02x}"
    red, green, blue = (number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6
    return "#" + "".join(f"{55 + 40 * level if level else 0:02x}" for level in (red, green, blue))


def named(name: str, is_bright: bool = False) -> str:
    """pyte's names and hexadecimal digits."""
    if name == "default":
        return ""
    bright, plain = name.startswith("bright"), name.removeprefix("bright")
    if plain in NAMED:
        return _SIXTEEN[NAMED.index(plain) + 8 * (bright or is_bright)]
    return f"#{name.lower()}" if re.fullmatch(r"[0-9a-fA-F]{6}", name) else ""


@dataclass(frozen=True, slots=True)
class Style:
    """The style of the next characters."""

    foreground: str = ""
    background: str = ""
    flags: int = 0
    is_reversed: bool = False

    def run(self, text: str) -> Run:
        front, back = self.foreground, self.background
        if self.is_reversed:
            front, back = back or "#1b1d1e", front or "#d3d7cf"
        return text, front, back, self.flags


def runs(text: str) -> list[Run]:
    """The text without escapes, in pieces of one style each."""
    found: list[Run] = []
    style, position = Style(), 0
    for escape in _ESCAPE.finditer(text):
        if escape.start() > position:
            found.append(style.run(text[position : escape.start()]))
        position = escape.end()
        if escape["sgr"] is not None:
            style = changed(style, escape["sgr"])
    if position < len(text):
        found.append(style.run(text[position:]))
    return found


def changed(style: Style, parameters: str) -> Style:
    """The style after `ESC [ parameters m`."""
    numbers = iter(_numbers(parameters))
    for number in numbers:
        if number == 0:
            style = Style()
        elif number in _FLAGS:
            style = replace(style, flags=style.flags | _FLAGS[number])
        elif number in _UNSET:
            style = replace(style, flags=style.flags & ~_UNSET[number])
        elif number in (7, 27):
            style = replace(style, is_reversed=number == 7)
        elif number in (38, 48):
            colour = _extended(numbers)
            style = replace(style, foreground=colour) if number == 38 else replace(style, background=colour)
        else:
            style = _coloured(style, number)
    return style


def _coloured(style: Style, number: int) -> Style:
    match number // 10, number % 10:
        case 3 | 9 as tens, units if units < 8:
            return replace(style, foreground=_SIXTEEN[units + 8 * (tens == 9)])
        case 4 | 10 as tens, units if units < 8:
            return replace(style, background=_SIXTEEN[units + 8 * (tens == 10)])
        case 3, 9:
            return replace(style, foreground="")
        case 4, 9:
            return replace(style, background="")
    return style


def _numbers(parameters: str) -> list[int]:
    """`38;2;1;2;3`, and the form with colons, whose colour space (`38:2::1:2:3`) is left out."""
    flat = re.sub(r"([34]8:2):\d*(:\d*:\d*:\d*)", r"\1\2", parameters)
    return [int(each or 0) for each in re.split("[;:]", flat)]


def _extended(numbers: Iterator[int]) -> str:
    kind = next(numbers, 0)
    if kind == 5:
        return palette(min(255, next(numbers, 0)))
    if kind == 2:
        red, green, blue = (min(255, next(numbers, 0)) for _ in range(3))
        return f"#{red:02x}{green:02x}{blue:02x}"
    return ""
