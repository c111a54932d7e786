"""Classifying paths: test, documentation, tutorial or implementation; and the paths that a profile allows."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Allowed:
    """Globs: a path may be edited if it does not match `deny` and, unless `allow` is empty, matches `allow`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def permits(self, path: str) -> bool:
        if any(glob(each).fullmatch(path) for each in self.deny):
            return False
        return not self.allow or any(glob(each).fullmatch(path) for each in self.allow)

    def names(self, path: str) -> bool:
        """Whether a profile allows this very file: by its name, or by a folder whose name begins with a dot.

        A glob such as `src/**` names no file."""
        return any(glob(each).fullmatch(path) and _is_explicit(each, path) for each in self.allow)


def _is_explicit(pattern: str, path: str) -> bool:
    words = [word for word in pattern.split("/") if word.strip("*?")]
    parts = PurePosixPath(path).parts
    named = words and glob(words[-1]).fullmatch(parts[-1])
    return bool(named) or any(word.startswith(".") and word in parts for word in words)


@cache
def glob(pattern: str) -> re.Pattern[str]:
    """A pattern without a slash matches a name at any depth; `**` matches any number of folders."""
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.lstrip("/"))
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts), re.DOTALL)


_TEST_NAME = re.compile(r"(test_.*|.*_test|tests?|conftest)\.py")
_TEST_FOLDERS = {"test", "tests"}
#: ambiguous names of folders: they are for tests if the job's own test is inside
_PERHAPS = re.compile(r"(?i).*test.*|e2e|specs?|acceptance|functional|integration|checks?|it")


def is_test_path(path: str, test: str) -> bool:
    """Whether a file belongs to the tests: by its name, by a folder's name, or because it is inside a folder of tests
    that also contains the job's test. Code beside a test, such as `app/core.py` beside `app/tests.py`, does not."""
    place = PurePosixPath(path)
    if _TEST_NAME.fullmatch(place.name) or _TEST_FOLDERS & set(place.parts[:-1]):
        return True
    own = PurePosixPath(test.partition("::")[0]).parts[:-1]
    shared = [mine for mine, other in zip(own, place.parts[:-1], strict=False) if mine == other]
    beneath = place.parts[: len(shared)] == own[: len(shared)]
    return beneath and any(_PERHAPS.fullmatch(each) for each in shared)


def kind_of(said: str, paths: Iterable[str], test: str) -> str:
    """The kind of a change to these paths. The kind that a commit states counts if it fits the paths."""
    parts = {part_of(path, test) for path in paths}
    for part, fitting in _FITTING.items():
        if part in parts:
            return said if said in fitting else fitting[0]
    return said


#: the first touched part decides; the first of its kinds is the default
_FITTING: Mapping[str, tuple[str, ...]] = {
    "implementation": ("FIX_IMPL",),
    "tutorial": ("FIX_TUTORIAL",),
    "test": ("FIX_TEST", "IMPROVE_TEST", "FIX_TUTORIAL"),
    "documentation": ("DOC", "FIX_TUTORIAL"),
}

_PROSE = (".md", ".rst", ".adoc")
_PROGRAM = (
    ".py",
    ".pyx",
    ".sh",
    ".js",
    ".ts",
    ".c",
    ".h",
    ".rs",
    ".go",
    ".rb",
    ".toml",
    ".cfg",
    ".ini",
    ".yml",
    ".yaml",
)


def is_tutorial(path: str) -> bool:
    """By its name, if it is a script for a shell, or prose."""
    place = PurePosixPath(path)
    return place.name.startswith("tutorial") and place.suffix in ("", ".sh", ".bash", ".txt", *_PROSE)


def is_program(path: str) -> bool:
    """Whether a file is to be run or read by a tool, by its name alone; one without an extension may be."""
    return PurePosixPath(path).suffix in (*_PROGRAM, "")


def part_of(path: str, test: str) -> str:
    if is_tutorial(path):
        return "tutorial"
    if is_test_path(path, test):
        return "test"
    return "documentation" if is_documentation(path) else "implementation"


def is_documentation(path: str) -> bool:
    """Whether a path is documentation: at the root, in a folder of documents, or a README and the like elsewhere.

    A text or a template beside code is data of that code."""
    place = PurePosixPath(path)
    shouted = place.stem.isupper() and place.suffix in (*_PROSE, ".txt", "")
    if len(place.parts) == 1:
        return place.suffix in _PROSE or shouted
    if place.parts[0] in ("doc", "docs", "documentation"):
        return place.suffix not in _PROGRAM
    return shouted and place.suffix != ""
