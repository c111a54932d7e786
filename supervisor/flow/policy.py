"""What an agent may not do to make a test green, judged on what its work changes; and what kind of work that is.

Each breach names a rule:

    path                 a file outside the allowed paths      conftest      one that decides how tests are run
    timeout              a timeout marker or setting           configuration another setting of pytest
    skip, skipif, xfail, importorskip, exit, rerun             a test that need not pass any more
    deleted              a test that is gone, or has another name
    parameters           a test that runs with fewer values
    emptied              a test that checks nothing any more, or only under a condition, or not to its end
    swallowed            checks whose failure nobody hears of, or that nothing reaches
    trivial              an assertion that can't fail
    scope                another promise in a docstring, by a change that is no FIX_TUTORIAL
    detection            an implementation that asks whether it is tested
    unreadable           a file of tests that is no Python any more

It guards, and does not accuse: what it can't see is left to the runs.
"""

import configparser
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from supervisor.flow.testcode import TestCode, TestFunction, Unreadable, read


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    #: None: there is no such file
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """Globs: nothing that matches `deny` may be edited, and where there is an `allow` only what matches it."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Breach:
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


def breaches(changes: Iterable[FileChange], test: str, allowed: Allowed, kinds: Sequence[str] = ()) -> list[Breach]:
    """Everything in the work on `test` that policy refuses. `kinds`: what its commits say they are."""
    found: list[Breach] = []
    for change in changes:
        found += _configuration(change)
        found += _path(change, allowed)
        if change.path.endswith(".py") and is_test_path(change.path, test):
            found += _tests(change, "FIX_TUTORIAL" in kinds)
        elif change.after is not None:
            found += _detection(change)
    return found


# --- paths


def _path(change: FileChange, allowed: Allowed) -> Iterator[Breach]:
    rule = "conftest" if PurePosixPath(change.path).name == "conftest.py" else "path"
    if any(_glob(glob).fullmatch(change.path) for glob in allowed.deny):
        yield Breach(rule, f"edits {change.path}, which agents may not")
    elif allowed.allow and not any(_glob(glob).fullmatch(change.path) for glob in allowed.allow):
        yield Breach(rule, f"edits {change.path}, which is outside the allowed paths")


def may_edit(path: str, allowed: Allowed) -> bool:
    return not any(_path(FileChange(path), allowed))


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    """A pattern without a slash is a name at any depth; `**` stands for any number of folders."""
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.lstrip("/"))
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts), re.DOTALL)


def is_test_path(path: str, test: str) -> bool:
    """Whether a file belongs to the tests: by its name, its folders, or because it lies beside the job's test."""
    place = PurePosixPath(path)
    beside = str(PurePosixPath(test.partition("::")[0]).parent)
    named = re.fullmatch(r"(test_.*|.*_test|conftest)\.py", place.name)
    return bool(named) or bool({"test", "tests"} & set(place.parts[:-1])) or path.startswith(f"{beside}/")


# --- settings of pytest


def _configuration(change: FileChange) -> Iterator[Breach]:
    before, after = (_settings(change.path, text or "") for text in (change.before, change.after))
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    for key in changed:
        says_so = "timeout" in key or "timeout" in before.get(key, "") + after.get(key, "")
        yield Breach("timeout" if says_so else "configuration", f"changes the pytest setting {key} in {change.path}")


def _settings(path: str, text: str) -> Mapping[str, str]:
    """The settings of pytest in a file that may hold some."""
    name = PurePosixPath(path).name
    if name == "pyproject.toml":
        try:
            table = tomllib.loads(text).get("tool", {}).get("pytest", {})
        except (tomllib.TOMLDecodeError, AttributeError):
            return {"(unreadable)": text}
        options = table.get("ini_options", table) if isinstance(table, dict) else {"(all)": table}
        return {key: repr(value) for key, value in options.items()}
    if name not in ("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"):
        return {}
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {"(unreadable)": text}
    sections = [parser[name] for name in ("pytest", "tool:pytest") if name in parser]
    return {key: value for section in sections for key, value in section.items()}


# --- tests


def _tests(change: FileChange, may_change_scope: bool) -> Iterator[Breach]:
    try:
        before = read(change.before or "")
    except Unreadable:
        return  # nothing to compare with: the runs decide
    try:
        after = read(change.after or "")
    except Unreadable:
        yield Breach("unreadable", f"{change.path} is no Python that can be read")
        return
    yield from _marks(change.path, before, after)
    for name, old in before.tests.items():
        where = f"{change.path}::{name}"
        if (new := after.tests.get(name)) is None:
            yield Breach("deleted", f"{where} is gone")
            continue
        yield from _checks(where, old, new)
        if old.docstring and old.docstring.split() != new.docstring.split() and not may_change_scope:
            yield Breach("scope", f"{where} promises something else now")


def _marks(path: str, before: TestCode, after: TestCode) -> Iterator[Breach]:
    for rule, count in sorted((after.avoiding - before.avoiding).items()):
        yield Breach(rule, f"adds {'a' if count == 1 else count} `{rule}` to {path}")
    if before.timeouts != after.timeouts:
        yield Breach("timeout", f"changes timeout markers in {path}")


def _checks(where: str, old: TestFunction, new: TestFunction) -> Iterator[Breach]:
    for names, count in old.parameters.items():
        if names not in new.parameters or -1 < new.parameters[names] < count:
            yield Breach("parameters", f"{where} runs with fewer values of {names}")
    was, now = old.tally, new.tally
    if now.returns > was.returns:
        yield Breach("emptied", f"{where} returns before its end")
    if now.dead > was.dead:
        yield Breach("swallowed", f"{where} has checks that can't fail it")
    if now.vain > was.vain:
        yield Breach("trivial", f"{where} asserts what is always true")
    if (was.checks and not now.checks) or (was.calls and not now.calls):
        yield Breach("emptied", f"{where} checks nothing any more")
    elif was.sure and not now.sure:
        yield Breach("emptied", f"{where} checks only under a condition")


def _detection(change: FileChange) -> Iterator[Breach]:
    sign = "PYTEST_CURRENT_TEST"
    if (change.after or "").count(sign) > (change.before or "").count(sign):
        yield Breach("detection", f"{change.path} asks whether it is tested")


# --- kinds


def kind_of(said: str, paths: Iterable[str], test: str) -> str:
    """What kind of change touches these paths. What a commit says of itself counts where it may be so."""
    parts = {_part(path, test) for path in paths}
    for part, fitting in _FITTING.items():
        if part in parts:
            return said if said in fitting else fitting[0]
    return said


#: the first part that is touched decides; the first of its kinds is the usual one
_FITTING: Mapping[str, tuple[str, ...]] = {
    "implementation": ("FIX_IMPL",),
    "tutorial": ("FIX_TUTORIAL",),
    "test": ("FIX_TEST", "IMPROVE_TEST", "FIX_TUTORIAL"),
    "documentation": ("DOC", "FIX_TUTORIAL"),
}


def _part(path: str, test: str) -> str:
    place = PurePosixPath(path)
    if place.name.startswith("tutorial"):
        return "tutorial"
    if is_test_path(path, test):
        return "test"
    if place.suffix in (".md", ".rst", ".txt") or place.parts[0] in ("doc", "docs"):
        return "documentation"
    return "implementation"
