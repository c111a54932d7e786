"""Faults that meet share a run: a program finds the file that is meant for the test that has started it."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.verification.evidence.inquiry import naming
from supervisor.verification.evidence.laying import Content, Contents
from supervisor.verification.evidence.switching import UNTOLD, Switch, untold
from supervisor.verification.together.combining import Together, combined
from supervisor.verification.together.meeting import Asked, Standing
from supervisor.verification.together.reaching import Reached
from supervisor.verification.trials.runs import Instruments, View
from tests.verification.generated import MAIN, PROFILE, Claim, generate
from tests.verification.settling import judge_of, settle

TOOL = b'"""A tool."""\nfrom __future__ import annotations\nif __name__ == "__main__":\n    print(1, __doc__)\n'
BROKEN = TOOL.replace(b"1,", b"2,")
NAMED = "PYTEST_CURRENT_TEST"


def run(folder: Path, switch: Switch, **env: str) -> str:
    (folder / "tool.py").write_bytes(switch.content("tool.py", folder).data)
    done = subprocess.run(
        [sys.executable, "-W", "error", "tool.py"], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("tests/test_a.py::test_broken (call)", "2 A tool."),
        ("tests/test_a.py::test_broken[a (b)-c] (setup)", "2 A tool."),
        ("tests/test_a.py::TestAll::test_one (call)", "2 A tool."),
        ("tests/test_a.py::test_fine (teardown)", "1 A tool."),
        ("tests/test_a.py::test_broken_too (call)", "1 A tool."),
    ],
)
def test_a_program_runs_what_is_meant_for_its_test(tmp_path: Path, named: str, said: str) -> None:
    told = {
        "tests/test_a.py::test_broken": Content(BROKEN),
        "tests/test_a.py::TestAll": Content(BROKEN),
        "tests/test_a.py::test_fine": None,
        "tests/test_a.py::test_broken_too": None,
    }
    assert run(tmp_path, Switch(Content(TOOL), told), **{NAMED: named}).strip() == said
    assert not untold(tmp_path)


@pytest.mark.parametrize("named", [None, "", "test_a.py::test_broken (call)"], ids=["none", "empty", "other root"])
def test_where_no_test_is_named_it_says_so_and_is_what_it_was(tmp_path: Path, named: str | None) -> None:
    switch = Switch(Content(TOOL), {"tests/test_a.py::test_broken": Content(BROKEN)})
    assert run(tmp_path, switch, **({} if named is None else {NAMED: named})).strip() == "1 A tool."
    assert untold(tmp_path) == {"tool.py"}


def test_a_script_stays_a_script(tmp_path: Path) -> None:
    script = Content(b"#!/usr/bin/env python3\n" + TOOL, "program")
    made = Switch(script, {}).content("bin/tool", tmp_path)
    assert made.kind == "program"
    assert made.data.startswith(b"#!/usr/bin/env python3\n")


IN_PYTEST = """
import subprocess, sys
{more}
def test_one():
    done = subprocess.run([sys.executable, "tool.py"], env={{}}, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("2")
"""


@pytest.mark.parametrize("more", ["", "import tool\nassert not hasattr(tool, 'IS_BROKEN')"])
def test_programs_with_an_environment_of_their_own_are_told_and_pytest_itself_has_the_usual(
    tmp_path: Path, more: str
) -> None:
    """Where pytest imports the file, that import is the one of all tests."""
    probes = tmp_path / "probes"
    probes.mkdir()
    (probes / "_naming_probe.py").write_text(naming()["_naming_probe"])
    switch = Switch(Content(TOOL), {"test_a.py::test_one": Content(BROKEN + b"IS_BROKEN = True\n")})
    (tmp_path / "tool.py").write_bytes(switch.content("tool.py", tmp_path).data)
    (tmp_path / "test_a.py").write_text(IN_PYTEST.format(more=more))
    env = {"PATH": os.defpath, "PYTHONPATH": str(probes), "PYTEST_PLUGINS": "_naming_probe"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_a.py"]
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert not untold(tmp_path)


@pytest.mark.parametrize("kind", ["nothing", "garbage", "folder", "pipe", "link"])
def test_whatever_stands_for_the_notes_says_that_something_was_noted(tmp_path: Path, kind: str) -> None:
    place = tmp_path / UNTOLD
    match kind:
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
        case "link":
            place.symlink_to("nowhere")
        case _:
            place.write_bytes(b"\0{" if kind == "garbage" else b"")
    assert untold(tmp_path) == {""}


# --- what goes into one run

NOW: Mapping[str, Content | None] = {
    "tool/main.py": Content(b"def main(n):\n    a = n\n    return a\n"),
    "data.json": Content(b"{}\n"),
    "tests/stock.json": Content(b"[]\n"),
}
FAULTY = Content(b"def main(n):\n    a = n + 1\n    return a\n")
RAISES = Content(b"def main(n):\n    raise SystemError\n")


VIEW = View("", NOW.get, NOW.get)


def asked(number: int, files: Contents, *, reached: Reached | None = None, common: Reached | None = None) -> Asked:
    file = f"tests/test_{number}.py"
    lines = {file: frozenset((1, 2)), "tool/main.py": frozenset((1, 2, 3))}
    standing = Standing(VIEW, lambda nodes: reached or Reached(lines), common or Reached())
    return Asked(standing, (f"{file}::test_it",), 1, Instruments(files=files))


def runs(*experiments: Asked, never: Iterable[str] = ()) -> list[Together]:
    return combined(experiments, set(never))


def test_faults_of_one_line_share_a_run() -> None:
    one, two, three = (
        asked(number, {"tool/main.py": content}) for number, content in enumerate((FAULTY, RAISES, FAULTY))
    )
    [run] = runs(one, two, three)
    found = run.instruments
    assert not found.files
    switch = found.switched["tool/main.py"]
    assert switch.usual == NOW["tool/main.py"]
    assert [switch.contents[each.nodes[0]] for each in (one, two, three)] == [FAULTY, RAISES, FAULTY]
    assert set(found.plugins) == {"_naming_probe"}


def parts(**changed: str) -> Content:
    """A module of three functions, some of them with another body."""
    bodies = {"both": "return n", "first": "return n", "second": "return n", **changed}
    return Content("\n\n".join(f"def {name}(n):\n    {body}\n" for name, body in bodies.items()).encode())


def reaches(*bodies: int) -> Reached:
    """These lines of the module, which pytest itself executes."""
    found = {"tool/main.py": frozenset((1, 5, 9, *bodies))}
    return Reached({**found, "tests/test_1.py": frozenset((1, 2))}, found)


def test_faults_that_are_alike_need_no_switch() -> None:
    """Each test finds its own fault in all that it reaches, and another one's where it does not look."""
    view = View("", {"tool/main.py": parts()}.get, {"tool/main.py": parts()}.get)

    def fault(number: int, reached: Reached, **changed: str) -> Asked:
        made = asked(number, {"tool/main.py": parts(**changed)}, reached=reached)
        return Asked(replace(made.standing, view=view), made.nodes, 1, made.instruments)

    raises = "raise SystemError"
    one, two = (
        fault(1, reaches(2, 6), both=raises, first=raises),
        fault(2, reaches(2, 10), both=raises, second=raises),
    )
    [run] = runs(one, two)
    assert run.instruments.files == {"tool/main.py": parts(both=raises, first=raises, second=raises)}
    assert not run.instruments.switched
    other = fault(2, reaches(2, 10), both="return None", second=raises)
    assert len(runs(one, other)) == 2, "what both reach can't be two things"
    third = fault(2, reaches(2, 6, 10), both=raises, second=raises)
    assert len(runs(one, third)) == 2, "it would find a fault that is not its own"


def test_who_changes_nothing_there_finds_it_as_it_was() -> None:
    one, two = asked(1, {"tool/main.py": RAISES}), asked(2, {})
    [run] = runs(one, two)
    assert run.instruments.switched["tool/main.py"].contents[two.nodes[0]] is None


def lines(**more: object) -> Reached:
    reached = Reached({"tests/test_2.py": frozenset((1, 2)), "tool/main.py": frozenset((1, 2, 3))})
    return replace(reached, **more)  # type: ignore[arg-type]


IMPORTED = {"tool/main.py": frozenset((1,))}
APART = {
    "a program that several tests share runs it": {"common": Reached(IMPORTED)},
    "pytest itself executes what differs": {"reached": lines(inside={"tool/main.py": frozenset((1, 2, 3))})},
    "it is read, too": {"reached": lines(files=frozenset(("tool/main.py",)))},
    "not all that it starts was seen": {"reached": lines(is_opaque=True)},
}


@pytest.mark.parametrize("which", APART)
def test_what_can_not_be_told_apart_runs_apart(which: str) -> None:
    one = asked(1, {"tool/main.py": FAULTY}, common=APART[which].get("common"))
    assert len(runs(one, asked(2, {"tool/main.py": RAISES}, **APART[which]))) == 2


def test_what_pytest_only_imports_can_be_a_switch() -> None:
    """Of what differs it executes nothing."""
    common = Reached(IMPORTED, IMPORTED)
    one, two = (asked(number, {"tool/main.py": each}, common=common) for number, each in enumerate((FAULTY, RAISES)))
    assert len(runs(one, two)) == 1


def test_who_finds_other_data_of_the_tests_may_reach_anything() -> None:
    """Until its old version was watched."""
    old = {"tool/main.py": FAULTY, "tests/stock.json": Content(b"{}\n")}
    one, two = asked(1, old), asked(2, {"tool/main.py": RAISES})
    assert len(runs(one, two)) == 2
    one = replace(one, standing=replace(one.standing, reached_before=one.standing.reached(one.nodes)))
    assert len(runs(one, two)) == 1


def test_a_file_that_could_not_tell_is_no_switch_again() -> None:
    experiments = [asked(number, {"tool/main.py": RAISES if number else FAULTY}) for number in range(2)]
    assert len(runs(*experiments, never=["tool/main.py"])) == 2


def test_files_of_data_that_meet_run_apart() -> None:
    reached = {
        number: Reached({f"tests/test_{number}.py": frozenset((1,))}, files=frozenset(("data.json",)))
        for number in (1, 2)
    }
    experiments = [
        asked(number, {"data.json": Content(b"%d" % number)}, reached=reached[number]) for number in (1, 2)
    ]
    assert len(runs(*experiments)) == 2


def test_files_that_are_too_large_together_run_apart() -> None:
    experiments = [
        asked(number, {"tool/main.py": Content(b"# %d\n" % number * 2**19 + RAISES.data)}) for number in (1, 2)
    ]
    assert len(runs(*experiments)) == 2


# --- on real runs


def all_run(*kinds: str, files: int) -> list[Claim]:
    return [Claim(number, kind, number % files, number, is_run=True) for number, kind in enumerate(kinds, 1)]


#: a tool that starts itself anew, and tells itself nothing
ANEW = """import os
import subprocess
import sys

if __name__ == "__main__" and "ANEW" not in os.environ:
    sys.exit(subprocess.run([sys.executable, "-m", "tool", *sys.argv[1:]], env={"ANEW": "1"}).returncode)
"""


async def test_a_program_that_nobody_tells_has_its_faults_tried_apart(tmp_path: Path) -> None:
    claims, profile = all_run("improved", "improved", files=2), replace(PROFILE, evidence_factor=100)
    made = await generate(tmp_path, claims, 2, profile=profile, main=ANEW + MAIN)
    found = await settle(await judge_of(tmp_path), made)
    for number in (1, 2):
        verdict = found.verdicts[number]
        assert (verdict.verification, verdict.doubts) == ("verified", ())
        assert verdict.evidence is not None
        assert verdict.evidence.strength.caught > verdict.evidence.strength.tried / 2


@pytest.mark.timeout(300)
async def test_what_is_shown_is_what_one_by_one_would_show_by_fewer_runs(tmp_path: Path) -> None:
    """All tests run one program; pytest itself imports nothing of it."""
    claims = all_run("improved", "fixed", "improved", "improved", files=2)
    made = await generate(tmp_path, claims, 2, profile=replace(PROFILE, evidence_factor=100))
    found = await settle(await judge_of(tmp_path), made)
    assert found.groups == [(1, 3, 2, 4)], "by file"
    judge = await judge_of(tmp_path)
    alone = [await judge.verify(made.batch, job) for job in made.jobs]
    for verdict, claim in zip(alone, claims, strict=True):
        together = found.verdicts[claim.number]
        assert together.evidence is not None
        assert verdict.evidence is not None
        assert (together.verification, together.doubts) == (verdict.verification, verdict.doubts)
        assert replace(together.evidence.strength, survived=()) == replace(verdict.evidence.strength, survived=())
        assert together.evidence.necessity == verdict.evidence.necessity
    shared = [found.verdicts[claim.number].evidence for claim in claims]
    starts = sum(each.runs - each.saved for each in shared if each is not None)
    assert starts < sum(each.evidence.runs for each in alone if each.evidence is not None) / 2
