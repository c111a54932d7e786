"""Faults in code, what probes have noted, and files put into a checkout: pure, or on a folder."""

import ast
import json
from pathlib import Path
from typing import Any

from supervisor.verification.evidence.drastic import Code
from supervisor.verification.evidence.facts import refusals
from supervisor.verification.evidence.faults import faults
from supervisor.verification.evidence.laying import Content, put
from supervisor.verification.evidence.lies import LIES, Telling, tell
from supervisor.verification.evidence.seen import Sign, ranges, read_seen
from supervisor.verification.trials.reports import Case, Report, Session
from supervisor.verification.trials.running import Ended
from supervisor.verification.trials.runs import Run

TEXT = '''\
"""It counts."""

from __future__ import annotations


def count(words: list[str], least: int = 1) -> int:
    """How many words are long enough."""
    found = 0
    for word in words:
        if len(word) >= least:
            found += 1
    print(f"{found} words")
    return found


def never() -> str:
    return "reached"
'''
CODE = Code("counting.py", TEXT, frozenset(range(8, 14)))


def run_with(text: str) -> object:
    names: dict[str, object] = {"print": lambda *_: None}
    exec(compile(text, "counting.py", "exec"), names)  # our own text
    try:
        return names["count"](["a", "bcd"], 2)  # type: ignore[operator]
    except SystemError as error:
        return error


def test_drastic_faults_come_first_and_change_all_that_was_reached() -> None:
    found = list(faults((CODE,), 0))[:3]
    assert [(label, is_drastic) for label, is_drastic, _ in found] == [
        ("all that was reached raises", True),
        ("all that was reached does nothing", True),
        ("all that was reached says something else", True),
    ]
    raising, silent, other = (run_with(files["counting.py"]) for _, _, files in found)
    assert isinstance(raising, SystemError)
    assert (silent, other, run_with(TEXT)) == (None, 2, 1)
    rest = TEXT[TEXT.index("def never") :]
    assert all(files["counting.py"].endswith(rest) for _, _, files in found), "what was not reached stays as it was"


def test_small_faults_change_one_line_that_was_reached_each_and_are_always_the_same() -> None:
    found = list(faults((CODE,), 20))[4:]
    assert len(found) == len({label.split()[0] for label, _, _ in found}) > 3
    whole = ast.unparse(ast.parse(TEXT)).splitlines()
    for _, _, files in found:
        changed = ast.unparse(ast.parse(files["counting.py"])).splitlines()
        assert sum(a != b for a, b in zip(whole, changed, strict=True)) == 1
    assert found == list(faults((CODE,), 20))[4:]


def test_one_fault_answers_the_first_question_well() -> None:
    """So a test that has dropped a question catches less."""
    label, is_drastic, files = list(faults((CODE,), 0))[3]
    assert (label, is_drastic) == ("all that was reached says something else when it is asked something else", False)
    names: dict[str, object] = {"print": lambda *_: None}
    exec(compile(files["counting.py"], "counting.py", "exec"), names)  # our own text
    count: Any = names["count"]
    assert [count(["a"]), count(["a"]), count([]), count(["a"])] == [1, 1, 1, 1]
    assert count(["a", "b"]) == 3


def test_a_program_s_own_module_is_changed_too() -> None:
    program = Code("bin/tool", "import sys\n\nprint(len(sys.argv))\n", frozenset({1, 3}))
    raising, silent, _ = (files["bin/tool"] for _, _, files in faults((program,), 0))
    assert raising.startswith("raise SystemError")
    assert silent.startswith("raise SystemExit(0)")


def test_what_is_no_python_has_no_faults() -> None:
    assert list(faults((Code("tool", "#!/bin/sh\nexit $?\n", frozenset({2})),), 5)) == []


# --- notes of the code under trial


def test_notes_are_believed_as_far_as_they_name_files_of_the_repository(tmp_path: Path) -> None:
    notes: list[object] = [
        ["line", "tool.py", 3, "body"],
        ["line", "tool.py", 1, "import"],
        ["line", "../../etc/passwd", 3, "body"],
        ["run", "/bin/sh", "itself"],
        ["run", "bin/tool", "sh"],
        ["open", "words.txt"],
        ["line", "tool.py", "x" * 10],
        {"line": 1},
        None,
    ]
    text = "\n".join([*map(json.dumps, notes), "{", "[" * 100_000])
    (tmp_path / "seen").write_text(text)
    (tmp_path / "asked").write_text(json.dumps(["CI", "tool.py", 3, True]) + "\n[1]\n")
    seen = read_seen(tmp_path)
    assert seen.lines == {"tool.py": frozenset({3})}
    assert seen.programs == {"bin/tool": "sh"}
    assert seen.opened == {"words.txt"}
    assert seen.asked == (Sign("CI", "tool.py", 3, True),)
    assert seen.only(frozenset({"tool.py"})).opened == frozenset()


def test_places_are_told_as_ranges() -> None:
    assert ranges("a.py", {1, 2, 3, 7, 9, 10}) == ["a.py:1-3", "a.py:7", "a.py:9-10"]


# --- checkouts


def test_no_link_leads_out_of_a_checkout(tmp_path: Path) -> None:
    """Neither for a file that is put back, nor for a program that is lied about."""
    home, checkout = tmp_path / "home", tmp_path / "checkout"
    for each in (home, checkout):
        each.mkdir()
    (home / "file").write_text("mine")
    (checkout / "folder").symlink_to(home)
    (checkout / "link").symlink_to(home / "file")

    try:
        tell(checkout, Telling("folder/file", "itself", LIES[0]))
        raise AssertionError("it lied about a program of the user's")
    except OSError:
        pass
    put(checkout, {"folder/file": Content(b"new"), "link": Content(b"new"), "gone": None})

    assert (home / "file").read_text() == "mine"
    assert list(home.iterdir()) == [home / "file"]
    assert [(checkout / each).read_text() for each in ("folder/file", "link")] == ["new", "new"]


# --- facts

NODE = "tests/test_it.py::test_it"
GOOD = Case("passed", "", "tests/test_it.py", 3, "test_it")


def session(**other: object) -> Session:
    usual: dict[str, object] = {"rootdir": ".", "inipath": "pyproject.toml", "args": (), "addopts": ("-q",)}
    usual |= {"ini": {}, "version": "8", "prefix": "/venv", "plugins": {}, "conftests": ("tests/conftest.py",)}
    usual |= {"modules": {"tool": "tool/__init__.py"}, "foreign": {}}
    return Session(**{**usual, **other})  # type: ignore[arg-type]


def ran(cases: dict[str, Case], **other: object) -> Run:
    return Run("pytest", Ended(0, ""), Report(cases, session(**other)), (NODE,), 1.0, 60.0, Path())


def said(before: dict[str, Case], after: dict[str, Case], **other: object) -> str:
    """The name of what is refused, if something is."""
    found = list(refusals(NODE, ran(before), [ran(after, **other)], None))
    return found[0].partition(":")[0] if found else ""


def test_a_run_like_that_of_the_base_shows_nothing() -> None:
    assert said({NODE: GOOD}, {NODE: GOOD}) == ""


def test_cases_may_have_other_values_and_may_not_be_fewer() -> None:
    one, two, three = (f"{NODE}[{each}]" for each in "123")
    assert said({one: GOOD, two: GOOD}, {one: GOOD, three: GOOD}) == ""
    assert said({one: GOOD, two: GOOD}, {one: GOOD}) == "cases"
    skipped = Case("skipped", "not today")
    assert said({one: GOOD, two: GOOD}, {one: GOOD, two: skipped}) == "cases"
    assert said({one: GOOD, two: skipped}, {one: GOOD, two: skipped}) == ""


def test_another_function_in_a_test_s_place_is_seen() -> None:
    for other in (Case("passed", "", "tests/help.py", 1, "test_it"), Case("passed", "", GOOD.origin, 9, "<lambda>")):
        assert said({NODE: GOOD}, {NODE: other}) == "origin"
        assert said({NODE: other}, {NODE: other}) == ""


def test_pytest_is_set_up_as_at_the_base() -> None:
    for other in (
        {"conftests": ()},
        {"addopts": ("-q", "-x")},
        {"plugins": {"p": "tests/p.py"}},
        {"ini": {"a": "b"}},
    ):
        assert said({NODE: GOOD}, {NODE: GOOD}, **other) == "session"


def test_no_module_stands_before_another() -> None:
    assert said({NODE: GOOD}, {NODE: GOOD}, modules={"tool": "tests/tool.py"}) == "shadowed"
    assert said({NODE: GOOD}, {NODE: GOOD}, modules={"tool": "tool/__init__.py", "json": "json.py"}) == "shadowed"
    assert said({NODE: GOOD}, {NODE: GOOD}, modules={"tool": "tool/__init__.py", "more": "more.py"}) == ""
