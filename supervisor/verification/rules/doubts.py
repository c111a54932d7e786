"""Doubts: what a reviewer has to decide because a machine can't. Sentences with their place, old beside new.

Honest work that changes no expectation has none. A doubt that a run can settle names that run.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from supervisor.verification.rules.answers import Asked, answer_doubts, asked
from supervisor.verification.rules.cases import lost
from supervisor.verification.rules.commands import other_programs
from supervisor.verification.rules.expectations import Expectation, expectations, written
from supervisor.verification.rules.judged import EXECUTABLE, Base, Doubt, FileChange
from supervisor.verification.rules.names import literal
from supervisor.verification.rules.places import is_documentation, is_test_path, is_tutorial
from supervisor.verification.rules.policy import keeps_promise
from supervisor.verification.rules.reading import unseen
from supervisor.verification.rules.testcode import Function, TestCode, Unreadable, read
from supervisor.verification.rules.weakening import weakened

_TIMES = re.compile(r"(?i)time|second|deadline|wait|retr|attempt|delay|poll")
_PATHS = {"PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "HOME"}


def doubts(changes: Iterable[FileChange], test: str, base: Base | None = None) -> list[Doubt]:
    """The doubts about the work on `test`. `base` adds the text of the test's file if the work does not change it."""
    found: list[Doubt] = []
    old: list[Expectation] = []
    new: list[Expectation] = []
    still: dict[str, frozenset[str]] = {}
    files = list(changes)
    known = _asked(files, test, base or Base())
    for change in files:
        found += _of_file(change, test)
        is_test = is_test_path(change.path, test)
        if is_test and change.path.endswith(".py"):
            codes = _read(change)
            if codes is not None:
                before, after = codes
                found += _of_tests(change.path, before, after)
                old += expectations(change.path, before)
                new += expectations(change.path, after)
                still |= {f"{change.path}::{name}": _values(each) for name, each in after.tests.items()}
        elif is_test:
            found += _of_data(change)
        elif change.after is not None and _is_code(change):
            found += answer_doubts(change, known)
    return list(dict.fromkeys([*found, *weakened(old, new, test, still)]))


def _values(function: Function) -> frozenset[str]:
    """The literal values of a function, including those of its cases."""
    cases = {value for table in function.tables for case in table.cases or () for value in case}
    return written(function.node) | cases


def standing(found: Iterable[Doubt], settled: Iterable[str] = ()) -> tuple[str, ...]:
    """The doubts that are left after runs settled some: `strength`, `ignorance`, or the paths of needed files."""
    answered = frozenset(settled)
    return tuple(each.sentence for each in found if not _is_settled(each, answered))


def _is_settled(doubt: Doubt, settled: frozenset[str]) -> bool:
    if doubt.settled_by == "necessity":
        return any(doubt.sentence.startswith(f"{path} ") for path in settled)
    # The processes around a run can't be hidden from it.
    if doubt.settled_by == "ignorance" and re.search(r"who started it|/proc", doubt.sentence):
        return False
    return doubt.settled_by in settled


def _asked(files: list[FileChange], test: str, base: Base) -> Asked:
    own = test.partition("::")[0]
    changed = next((change.before for change in files if change.path == own and change.before), "")
    return asked(base.text or changed, test)


def _read(change: FileChange) -> tuple[TestCode, TestCode] | None:
    """The test code before and after; None: the runs decide, or policy refused the file."""
    try:
        return read(change.before or ""), read(change.after or "")
    except Unreadable:
        return None


# --- files


def _of_file(change: FileChange, test: str) -> Iterator[Doubt]:
    """Cases: the file is deleted; it became executable; it is unreadable, or not what it looks like."""
    if change.after is None:
        if not is_test_path(change.path, test):
            yield Doubt(f"{change.path} is deleted", "" if is_documentation(change.path) else "necessity")
        return
    if change.mode_after == EXECUTABLE and (change.mode_before != EXECUTABLE or change.before is None):
        yield Doubt(f"{change.path} became executable", "necessity")
    if "\0" in change.after or "\ufffd" in change.after:
        yield Doubt(f"{change.path} is not text and can't be reviewed")
    yield from unseen(change)
    if is_tutorial(change.path) and change.before is not None:
        yield from other_programs(change)


def _is_code(change: FileChange) -> bool:
    """Whether the file is code, including a program without an extension. Documents, images and data are not."""
    suffix = PurePosixPath(change.path).suffix
    return suffix not in (".md", ".rst", ".txt", ".json", ".csv", ".svg", ".html") and "\0" not in (
        change.after or ""
    )


def _of_data(change: FileChange) -> Iterator[Doubt]:
    """Doubts about data that tests read: expected output or input."""
    if change.before is None or change.after is None or change.before == change.after:
        return
    old, new = change.before.splitlines(), change.after.splitlines()
    gone = [line for line, count in (Counter(old) - Counter(new)).items() if count]
    come = [line for line, count in (Counter(new) - Counter(old)).items() if count]
    if gone:
        yield Doubt(f"{change.path}: has {_clipped(come[0]) if come else 'nothing'} instead of {_clipped(gone[0])}")
    elif not come or not _is_part(old, new):
        yield Doubt(f"{change.path}: the order of its lines changed")


def _is_part(old: list[str], new: list[str]) -> bool:
    rest = iter(new)
    return all(line in rest for line in old)


def _clipped(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


# --- tests


def _of_tests(path: str, before: TestCode, after: TestCode) -> Iterator[Doubt]:
    for name, old in before.tests.items():
        if (new := after.tests.get(name)) is not None:
            yield from _of_test(f"{path}::{name}", old, new)
    for name in before.others.keys() & after.others.keys():
        if ast.dump(before.others[name].node) != ast.dump(after.others[name].node):
            yield Doubt(f"{path}: `{name}`, which tests use, behaves differently", "strength")
    for text, sentence in sorted((_replaced(after) - _replaced(before)).keys()):
        yield Doubt(f"{path} {sentence}: `{text}`", "strength")
    for name, value in before.constants.items():
        was, now = literal(value), literal(after.constants.get(name, value))
        if was != now and was and now and not _TIMES.search(name):
            yield Doubt(f"{path}: {name} is {_clipped(str(now[0]))} instead of {_clipped(str(was[0]))}")


def _of_test(where: str, old: Function, new: Function) -> Iterator[Doubt]:
    for each in lost(old.tables, new.tables):
        if each.instead:
            yield Doubt(f"{where}: runs with {each.instead[:90]} instead of {each.case[:90]}")
        elif not each.certain:
            yield Doubt(f"{where}: the values of {each.case} are no longer literal", "strength")
    for text in sorted(set(new.wrapped) - set(old.wrapped)):
        yield Doubt(f"{where} is wrapped by `@{text[:80]}`", "strength")
    for text in sorted(set(_made_up(new)) - set(_made_up(old))):
        yield Doubt(f"{where}: sets `{text}` itself before it checks it")
    if not keeps_promise(old.docstring, new.docstring):
        said, was = (_clipped(" ".join(each.split())) for each in (new.docstring, old.docstring))
        yield Doubt(f"{where}: promises {said} instead of {was}")


def _made_up(function: Function) -> Iterator[str]:
    """The parts of a checked result that the test sets itself."""
    looked_at = {
        ast.unparse(each)
        for check in function.conduct.checks
        for each in ast.walk(check.node)
        if isinstance(each, ast.Attribute)
    }
    for node in ast.walk(function.node):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node) in looked_at:
            yield ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr") and len(node.args) > 2:
            name = literal(node.args[1])
            text = f"{ast.unparse(node.args[0])}.{name[0] if name else ''}"
            yield from [text] if text in looked_at else []


def _replaced(code: TestCode) -> Counter[tuple[str, str]]:
    return Counter(found for node in ast.walk(code.tree) for found in _replacing(node, code))


def _replacing(node: ast.AST, code: TestCode) -> Iterator[tuple[str, str]]:
    """Cases: an attribute of a module; a monkeypatch or mock; the search path of programs; an autouse fixture."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        owner = node.value
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        if isinstance(owner, ast.Name) and owner.id in code.names.imported:
            yield ast.unparse(node)[:80], "replaces what it tests with"
    elif isinstance(node, ast.Call):
        name, text = code.names.dotted(node.func), ast.unparse(node)[:80]
        last = name.rpartition(".")[2]
        if last in ("setattr", "setitem", "delattr") or "patch" in (last, *name.split(".")[-2:]):
            yield text, "replaces what it tests with"
        elif last == "setenv" and node.args and literal(node.args[0]) in {(each,) for each in _PATHS}:
            yield text, "changes where programs are found"
        elif any(word.arg == "autouse" for word in node.keywords):
            yield text, "has a fixture that every test gets"
    elif isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names):
        yield ast.unparse(node)[:80], "imports all names"
