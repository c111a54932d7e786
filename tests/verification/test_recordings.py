"""Recordings of the terminals that tests used are kept of the base, of each run of a verification and of the agent's
own runs; and what only looks like one, or lies where it should not, is not."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.adapters.layout import Layout
from supervisor.adapters.recordings import finding
from supervisor.adapters.recordings.checking import MOST_EVENTS, MOST_SECONDS, NotARecording, checked
from supervisor.adapters.recordings.filming import filmed
from supervisor.adapters.recordings.keeping import MOST, MOST_RUNS, Recording, RecordingsOfAttempts, keep
from supervisor.adapters.recordings.kept import KeptRecordings, Shown
from supervisor.errors import DeviceFailed
from supervisor.model.attempt import AttemptKey
from supervisor.transcripts.redact import Redactor
from tests.verification.courtroom import FIXED, courtroom
from tests.verification.recorded import GOOD, TEST, cast, lay

KEY = AttemptKey("b", 1, 1)
OTHER = "tests/test_term.py::test_other"
TERM = f"""\
import pathlib
import pytest

TOOL = pathlib.Path(__file__).parents[1] / "tool.py"

def shown(e2e, words):
    return e2e.run(f"{sys.executable} {{TOOL}} {{words}}", tty=True).stdout

@pytest.mark.parametrize("number", [2])
def test_shown(e2e, number):
    assert shown(e2e, f"double {{number}}").strip() == "4"

def test_other(e2e):
    assert shown(e2e, "double -1").strip() == "0"
"""
PLUGIN = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "supervisor.e2e.plugin")
SECRET = "hunter2hunter2"


def kept(state: Path, test: str = TEST, *secrets: str) -> list[Shown]:
    return KeptRecordings(Layout(state), Redactor(secrets)).all(KEY, test)


def content(state: Path, of: str, *secrets: str, number: int = 1) -> str:
    found = KeptRecordings(Layout(state), Redactor(secrets)).content(KEY, TEST, of, number)
    return found.decode() if found is not None else ""


async def test_the_base_and_each_run_of_a_verification_have_theirs(tmp_path: Path) -> None:
    async with courtroom(tmp_path, **{"tests/test_term.py": TERM}) as room:
        more = {"pytest": PLUGIN, "evidence_factor": 0, "verify_runs": 2}
        verdict = await room.verdict(f"{TEST}[2]", "fixed", {"tool.py": FIXED}, **more)
        assert verdict.verification == "verified", verdict.reason
        shown = kept(tmp_path / "state", f"{TEST}[2]")
        assert [(each.of, each.recording.test) for each in shown][:3] == [
            ("base", f"{TEST}[2]"), ("run-1", f"{TEST}[2]"), ("run-2", f"{TEST}[2]"),
        ]  # fmt: skip
        assert all(each.recording.title.startswith(f"{sys.executable} /") for each in shown)
        number = shown[0].recording.number
        assert '"5\\r\\n"' in content(tmp_path / "state", "base", number=number)
        assert '"4\\r\\n"' in content(tmp_path / "state", "run-1")
        assert kept(tmp_path / "state", OTHER)[0].of == "base"
        assert not list((tmp_path / "state" / "hosts").glob("*"))


async def test_a_film_of_a_kept_recording_has_its_screens(tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    lay(folder, cast(["o", "\x1b[31mred\x1b[0m"], ["m", "a step"], ["o", "\r\nthe end"]))
    RecordingsOfAttempts(Layout(tmp_path)).of_agent(KEY, TEST, folder)
    film = json.loads(await filmed(content(tmp_path, "agent").encode()))
    assert [["red", "#cc3333", "", 0]] in film["rows"]
    assert film["markers"][0][1:] == ["m", "a step"]


# --- what somebody else laid out


def of_agent(home: Path, checkout: Path, test: str = TEST) -> list[Recording]:
    RecordingsOfAttempts(Layout(home / "state")).of_agent(KEY, test, checkout)
    return [each.recording for each in kept(home / "state", test)]


def test_an_agents_own_runs_have_theirs_and_no_other_tests(tmp_path: Path) -> None:
    lay(tmp_path / "clone", name="mine")
    lay(tmp_path / "clone", name="parametrized", run="r2", test=f"{TEST}[1]")
    lay(tmp_path / "clone", name="theirs", run="r3", test=OTHER)
    lay(tmp_path / "clone", name="below", at="tests")
    names = [each.name for each in of_agent(tmp_path, tmp_path / "clone")]
    assert names == ["parametrized", "mine", "below"]
    assert [each.name for each in of_agent(tmp_path, tmp_path / "empty")] == []


def test_what_lay_there_before_a_run_is_not_of_that_run(tmp_path: Path) -> None:
    lay(tmp_path / "before", name="committed")
    lay(tmp_path / "after", name="committed")
    lay(tmp_path / "after", name="made", run="r2")
    homes = finding.homes_of([TEST])
    but = finding.runs_in(tmp_path / "before", homes)
    found = finding.found(tmp_path / "after", homes, lambda test: True, but)
    assert [each.name for each in found] == ["made"]


def linked_file(folder: Path, outside: Path) -> None:
    (folder / "tool.cast").unlink()
    (folder / "tool.cast").symlink_to(outside)


def linked_folder(folder: Path, outside: Path) -> None:
    moved = folder.parents[2].rename(outside.parent / "moved")
    (folder.parents[3] / "e2e").symlink_to(moved)


def fifo(folder: Path, outside: Path) -> None:
    (folder / "tool.cast").unlink()
    os.mkfifo(folder / "tool.cast")


def a_folder(folder: Path, outside: Path) -> None:
    (folder / "tool.cast").unlink()
    (folder / "tool.cast").mkdir()


def forbidden(folder: Path, outside: Path) -> None:
    (folder / "result.json").write_text("[" * 200_000)


@pytest.mark.parametrize("trick", [linked_file, linked_folder, fifo, a_folder, forbidden])
def test_no_link_is_followed_and_only_plain_files_are_read(
    tmp_path: Path, trick: Callable[[Path, Path], None]
) -> None:
    outside = tmp_path / "outside.cast"
    outside.write_bytes(GOOD)
    trick(lay(tmp_path / "clone"), outside)
    assert of_agent(tmp_path, tmp_path / "clone") == []


NONE = {
    "empty": b"",
    "markup": b"<script>alert(1)</script>\n" * 50,
    "a list": b"[2, 3]\n",
    "deep": b"[" * 100_000,
    "another version": cast(["o", "x"], version=1),
    "no end of the first line": b'{"version": 2, "title": "' + b"x" * 2**17 + b'"}\n[0, "o", "x"]\n',
    "no events": cast(),
    "nothing but what is none": cast(["z", "x"], ["o", 7], ["o"], [[], "x"]),
    "bytes": os.urandom(4_000),
    "an archive": b"PK\x03\x04" + bytes(2_000),
}


@pytest.mark.parametrize("what", NONE)
def test_what_is_no_recording_is_not_kept(tmp_path: Path, what: str) -> None:
    with pytest.raises(NotARecording):
        checked(NONE[what])
    lay(tmp_path / "clone", NONE[what])
    lay(tmp_path / "clone", name="good")
    assert [each.name for each in of_agent(tmp_path, tmp_path / "clone")] == ["good"]


def test_only_what_a_player_knows_is_taken() -> None:
    head: dict[str, Any] = {"title": "a\x1b[31m\nb\u202e", "env": {"KEY": SECRET}, "timestamp": 1e300}
    known = cast(["o", "x"], ["q", "?"], ["x", "0"], term={"cols": 10**9, "rows": "x"}, **head)
    told = checked(known + b'# no event\n[NaN, "o", "y"]\n[-9, "m", "z"]\n')
    first, *rest = [json.loads(line) for line in told.data.splitlines()]
    assert first == {"version": 2, "width": 80, "height": 24, "timestamp": 0, "title": "a [31m b"}
    assert rest == [[0.5, "o", "x"], [1.5, "m", "z"]]
    assert SECRET not in told.data.decode()


def test_an_endless_recording_ends() -> None:
    many = checked(GOOD + b'[0.001, "o", "x"]\n' * (MOST_EVENTS + 5))
    assert (many.is_cut, len(many.data.splitlines()) - 1) == (True, MOST_EVENTS)
    long = checked(GOOD + b'[1e9, "o", "late"]\n')
    assert (long.is_cut, long.seconds) == (True, 0.5)
    assert long.seconds < MOST_SECONDS


@given(st.binary(max_size=300), st.lists(st.binary(max_size=60), max_size=6))
def test_whatever_is_there_it_is_a_recording_or_it_is_none(head: bytes, lines: list[bytes]) -> None:
    for data in (head + b"\n" + b"\n".join(lines), GOOD + b"\n".join(lines)):
        try:
            told = checked(data)
        except NotARecording:
            continue
        assert checked(told.data).data == told.data


def test_a_large_recording_is_cut_between_events(tmp_path: Path) -> None:
    lay(tmp_path / "clone", GOOD + (json.dumps([0.01, "o", "x" * 1_000]).encode() + b"\n") * 4_000)
    [one] = of_agent(tmp_path, tmp_path / "clone")
    assert one.is_cut
    assert one.size <= finding.MOST_BYTES + 1_000


def test_there_is_a_limit_of_how_many(tmp_path: Path) -> None:
    for number in range(MOST + 10):
        lay(tmp_path / "clone", name=f"n{number}")
    assert len(of_agent(tmp_path, tmp_path / "clone")) == MOST
    recorded = []
    for number in range(1, MOST_RUNS + 4):
        folder = tmp_path / f"run{number}"
        keep(folder, [(Recording("tool", "", TEST, 1.0, len(GOOD)), checked(GOOD).data)], 1, 2**20)
        recorded.append(str(folder))
    runs = RecordingsOfAttempts(Layout(tmp_path / "state"))
    runs.of_runs(KEY, TEST, ["", *recorded])
    shown = [each.of for each in kept(tmp_path / "state") if each.of != "agent"]
    assert shown == [f"run-{number}" for number in range(2, MOST_RUNS + 2)]
    runs.of_runs(KEY, TEST, [])
    assert [each.of for each in kept(tmp_path / "state")] == ["agent"] * MOST


def test_so_much_is_looked_through_and_no_more(tmp_path: Path) -> None:
    """What is no recording is no reason to read on."""
    for number in range(finding.MOST_READ + 50):
        lay(tmp_path / "clone", b"no recording", name=f"n{number}", run="r9")
    lay(tmp_path / "clone", name="good", run="r1")
    assert of_agent(tmp_path, tmp_path / "clone") == []
    assert len(finding.homes_of(["/".join("a" * 50) + "/test_it.py::test"])) == finding.MOST_HOMES


def test_no_name_is_a_path(tmp_path: Path) -> None:
    lay(tmp_path / "clone", name="..\\..;rm -rf <b>\u202e")
    [one] = of_agent(tmp_path, tmp_path / "clone")
    assert one.name.isprintable()
    assert content(tmp_path / "state", "agent")
    for of in ("../agent", "agent/..", "run-0", "run-1/../agent", "", "base"):
        assert content(tmp_path / "state", of) == ""
    assert content(tmp_path / "state", "agent", number=2) == ""


def test_no_secret_leaves(tmp_path: Path) -> None:
    """Also one that is split between events."""
    begun, rest = SECRET[:5], SECRET[5:]
    lay(tmp_path / "clone", cast(["o", f"it is {begun}"], ["o", f"{rest}!"], ["i", SECRET], title=f"say {SECRET}"))
    assert of_agent(tmp_path, tmp_path / "clone")
    said = content(tmp_path / "state", "agent", SECRET)
    assert (SECRET in said, rest in said, "it is" in said) == (False, False, True)
    assert SECRET not in kept(tmp_path / "state", TEST, SECRET)[0].recording.title


BOMBS = {
    "a terminal of any size": [["r", "999999999x999999999"], ["o", "x"]],
    "a number without end": [["r", "9" * 9_000 + "x1"], ["o", "x"]],
    "marks over marks": [["o", "a" + "\u0301" * 200_000]],
    "scrolling": [["o", "\x1b[1;5r" + "\n" * 100_000]],
    "a colour for each letter": [["o", "".join(f"\x1b[38;5;{n % 256}mx" for n in range(100_000))]],
    "titles and links": [["o", "\x1b]0;t\x07\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07\x1b]52;c;Zm9v\x07"]],
    "steps": [["m", "<b>" * 100]] * 5_000,
}


@pytest.mark.parametrize("bomb", BOMBS)
async def test_a_film_is_made_in_bounds_or_it_is_said_that_it_can_not_be(bomb: str) -> None:
    try:
        film = json.loads(await filmed(checked(cast(*BOMBS[bomb])).data))
    except DeviceFailed as failed:
        assert str(failed).startswith("the recording can't be shown: ")  # noqa: PT017
        return
    assert len(film["markers"]) <= 500
    assert "\x1b" not in json.dumps(film, ensure_ascii=False)
    assert all(columns <= 400 and lines <= 200 for *_, (columns, lines) in film["frames"])
