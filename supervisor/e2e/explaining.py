"""What a failed expectation shows: enough to see why, never so much that it hides it."""

import difflib

_LINES = 40
_WIDTH = 400


def excerpt(text: str) -> str:
    """The text, indented, its middle left out when it is long."""
    if not text:
        return "  (nothing)"
    lines = [line if len(line) <= _WIDTH else f"{line[:_WIDTH]}… ({len(line)} characters)" for line in _lines(text)]
    if len(lines) > _LINES:
        half = _LINES // 2
        lines = [*lines[:half], f"… {len(lines) - _LINES} lines left out …", *lines[-half:]]
    shown = "\n".join(f"  {line}" for line in lines)
    return shown if text.endswith("\n") else f"{shown}\n  (no newline at the end)" * ("\n" in text) or shown


def _lines(text: str) -> list[str]:
    """As a terminal cannot fool a reader: control characters are spelled out."""
    return ["".join(_visible(each) for each in line) for line in text.removesuffix("\n").split("\n")]


def _visible(character: str) -> str:
    return character if character.isprintable() or character == "\t" else repr(character)[1:-1]


def diff(found: str, wanted: str) -> str:
    """A unified diff from what was wanted to what was found."""
    lines = list(difflib.unified_diff(_lines(wanted), _lines(found), "wanted", "found", lineterm="", n=2))
    if not lines:
        return f"  they differ only in the newline at the end: wanted {wanted[-10:]!r}, found {found[-10:]!r}"
    if len(lines) > 2 * _LINES:
        lines = [*lines[: 2 * _LINES], f"… {len(lines) - 2 * _LINES} more lines of difference …"]
    spaces = "" if found.split() != wanted.split() else "\n  (they differ only in white space)"
    return "\n".join(f"  {line[:_WIDTH]}" for line in lines) + spaces


def nearest(text: str, wanted: str) -> str:
    """The line of the text that comes closest to the one that was wanted."""
    if "\n" in wanted.strip("\n") or len(text) > 100_000:
        return ""
    close = difflib.get_close_matches(wanted.strip(), [line.strip() for line in text.splitlines()], 1, 0.6)
    return f"\n  the nearest line is: {close[0][:_WIDTH]}" if close else ""
