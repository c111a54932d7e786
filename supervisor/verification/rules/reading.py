"""What a reader of a change does not see: a text that is too large, or that Python reads differently than people."""

import ast
import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from supervisor.verification.rules.judged import EXECUTABLE, Breach, Doubt, FileChange
from supervisor.verification.rules.places import is_program

#: stands in place of a text that is not judged
TOO_LARGE = "(too large to be judged"

#: as in PEP 263: it counts in the first two lines only
_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
#: a reader who takes these for UTF-8 may misread a letter, but no code
_PLAIN = ("utf-8", "utf-8-sig", "ascii", "iso8859", "cp125")
#: they join or vary the letters around them, and begin a file
_HARMLESS = "\u200c\u200d\ufeff"
#: letters that are invisible
_EMPTY = "\u034f\u115f\u1160\u3164\uffa0"
#: scripts whose letters are easily confused
_ALIKE = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")


def misread(change: FileChange) -> Iterator[Breach]:
    """Python source in an encoding in which a comment may be code."""
    coding = _coding(change.after or "")
    if coding and coding != _coding(change.before or ""):
        yield Breach("unreadable", f"{change.path} is encoded as {coding[:30]}: people read other code than Python")


def _coding(text: str) -> str:
    for line in text.splitlines()[:2]:
        if found := _CODING.match(line):
            try:
                name = codecs.lookup(found[1]).name
            except LookupError:
                return found[1]
            return "" if name.startswith(_PLAIN) else name
    return ""


def unseen(change: FileChange) -> Iterator[Doubt]:
    """Cases: the text is not read at all; it is shown differently than it is; a name is not what it looks like."""
    before, after = change.before or "", change.after or ""
    if after.startswith(TOO_LARGE):
        yield Doubt(f"{change.path} is too large to be judged")
        return
    if not (is_program(change.path) or change.mode_after == EXECUTABLE):
        return
    if hidden := sorted((Counter(_hidden(after)) - Counter(_hidden(before))).keys()):
        named = ", ".join(f"U+{ord(each):04X}" for each in hidden[:3])
        yield Doubt(f"{change.path} has characters that are not shown, or change what is shown: {named}")
    if change.path.endswith(".py"):
        for name in sorted(_mixed(after) - _mixed(before))[:3]:
            yield Doubt(f"{change.path} has a name in letters of two scripts: {name!a}")


def _hidden(text: str) -> Iterator[str]:
    """Control characters, and those that reorder or hide text; not those that join letters or end a line."""
    for each in re.findall(r"[^\t\n\x0c\x20-\x7e]", text.replace("\r\n", "\n")):
        is_odd = unicodedata.category(each) in ("Cc", "Cf", "Co", "Zl", "Zp") or each in _EMPTY
        if is_odd and each not in _HARMLESS and each != "\0":
            yield each


def _mixed(text: str) -> set[str]:
    if text.isascii():
        return set()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {name for node in ast.walk(tree) for name in _names(node) if len(set(_scripts(name))) > 1}


def _names(node: ast.AST) -> Iterator[str]:
    for name in ("id", "attr", "name", "arg"):
        if isinstance(value := getattr(node, name, None), str) and not value.isascii():
            yield value


def _scripts(name: str) -> Iterator[str]:
    for each in name:
        if each.isalpha() and (script := unicodedata.name(each, "").partition(" ")[0]) in _ALIKE:
            yield script
