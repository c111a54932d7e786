"""The message of a failed expectation: enough to see why it failed, and no more."""

import difflib

_LINES = 40
_WIDTH = 400


def excerpt(text: str) -> str:
    """The text, indented, its middle left out when it is long."""
    if not text:
        return "  (nothing)"
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > _LINES:
        half = _LINES // 2
        lines = [*lines[:half], f"… {len(lines) - _LINES} lines left out …", *lines[-half:]]
    return "\n".join(f"  {_visible(line)}" for line in lines)


def _visible(line: str) -> str:
    """Escape control characters and truncate long lines, so that output can't fool the reader."""
    shown = line[:_WIDTH] + (f"… ({len(line)} characters)" if len(line) > _WIDTH else "")
    return "".join(each if each.isprintable() or each == "\t" else repr(each)[1:-1] for each in shown)


def _lines(text: str) -> list[str]:
    return [_visible(line) for line in text.removesuffix("\n").split("\n")]


def diff(found: str, wanted: str) -> str:
    """A unified diff from the expected to the actual text."""
    lines = list(difflib.unified_diff(_lines(wanted), _lines(found), "wanted", "found", lineterm="", n=2))
    if not lines:  # they differ only after the shown part of a line, or in the last newline
        at = next((i for i, pair in enumerate(zip(found, wanted, strict=False)) if len(set(pair)) > 1), -1)
        at = min(len(found), len(wanted)) if at < 0 else at
        around = slice(max(0, at - 20), at + 40)
        return f"  they differ at character {at}: expected {wanted[around]!r}, found {found[around]!r}"
    if len(lines) > 2 * _LINES:
        lines = [*lines[: 2 * _LINES], f"… {len(lines) - 2 * _LINES} more lines of difference …"]
    spaces = "" if found.split() != wanted.split() else "\n  (they differ only in white space)"
    return "\n".join(f"  {line}" for line in lines) + spaces


def nearest(text: str, wanted: str) -> str:
    """The line of the text that is most similar to the expected one."""
    if "\n" in wanted.strip("\n") or len(text) > 100_000:
        return ""
    close = difflib.get_close_matches(wanted.strip(), [line.strip() for line in text.splitlines()], 1, 0.6)
    return f"\n  the nearest line is: {close[0][:_WIDTH]}" if close else ""
