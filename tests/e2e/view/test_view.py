"""What the page is made of: coloured text, films of recordings, groups of tests; all of it from hostile files."""

import json
import os
import time
from datetime import date
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from supervisor.cli.session import Session
from supervisor.cli.tutorial_view import view
from supervisor.e2e.casts import Cast, Event
from supervisor.e2e.processes import started_at
from supervisor.e2e.ptys import Size
from supervisor.e2e.results import folder_name
from supervisor.e2e.tutorial.check import check
from supervisor.e2e.tutorial.recorded import cites
from supervisor.e2e.view.frames import film
from supervisor.e2e.view.grouping import group
from supervisor.e2e.view.loading import load
from supervisor.e2e.view.page import page, write
from supervisor.e2e.view.styled import BOLD, DIM, UNDERLINE, palette, runs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", [("plain", "", "", 0)]),
        ("\x1b[31mred\x1b[0m", [("red", "#cc3333", "", 0)]),
        ("\x1b[1;94mx\x1b[22;39my", [("x", "#6f9fd8", "", BOLD), ("y", "", "", 0)]),
        ("\x1b[48;5;1mx", [("x", "", "#cc3333", 0)]),
        ("\x1b[38;5;196mx", [("x", "#ff0000", "", 0)]),
        ("\x1b[38;2;1;2;3mx", [("x", "#010203", "", 0)]),
        ("\x1b[38:2::1:2:3mx", [("x", "#010203", "", 0)]),
        ("\x1b[4;2mx\x1b[24my", [("x", "", "", UNDERLINE | DIM), ("y", "", "", DIM)]),
        ("\x1b[7;31mx", [("x", "#1b1d1e", "#cc3333", 0)]),
        ("\x1b[2Ka\x1b[3;4Hb\x1b(Bc", [("a", "", "", 0), ("b", "", "", 0), ("c", "", "", 0)]),
        ("\x1b]0;title\x07\x1b]8;;http://x\x1b\\link", [("link", "", "", 0)]),
        ("\x1b[38;5mx", [("x", "#2e3436", "", 0)]),
    ],
)
def test_escapes_become_colours_or_nothing(text: str, expected: list[object]) -> None:
    assert runs(text) == expected


@given(st.text(st.sampled_from("\x1b[]()0123456789;:?mHKJhl\x07\\PX^_ ab\n")))
def test_no_escape_survives(text: str) -> None:
    assert "\x1b" not in "".join(run[0] for run in runs(text))


def test_palette_is_xterm_s() -> None:
    assert (palette(16), palette(21), palette(231), palette(232), palette(255)) == (
        "#000000", "#0000ff", "#ffffff", "#080808", "#eeeeee",
    )  # fmt: skip


def cast(*events: tuple[float, str, str], size: Size = Size(20, 5)) -> Cast:  # noqa: B008 (frozen)
    return Cast(size, 0.0, "t", tuple(Event(*event) for event in events))


def test_film_holds_what_changed() -> None:
    made = film(cast((0.0, "o", "one\r\n"), (1.0, "o", "\x1b[32mtwo"), (1.001, "o", "!"), (2.0, "m", "done")))
    texts = ["".join(run[0] for run in row).rstrip() for row in made["rows"]]
    assert [(frame[0], {line: texts[row] for line, row in frame[1].items()}) for frame in made["frames"]] == [
        (0.0, {0: "one", 1: "", 2: "", 3: "", 4: ""}),
        (1.001, {1: "two!"}),
    ]
    assert made["markers"] == [[2.0, "m", "done"]]


def test_film_follows_a_resize_and_bounds_it() -> None:
    made = film(cast((0.0, "o", "x"), (1.0, "r", "30x10"), (2.0, "r", "99999x99999"), (3.0, "r", "junk")))
    assert [frame[3] for frame in made["frames"]] == [[20, 5], [30, 10], [400, 200]]


@given(
    st.lists(
        st.tuples(st.just(0.5), st.sampled_from(["o", "r", "i", "m", "x", "?"]), st.text(max_size=30)), max_size=6
    )
)
def test_no_recording_breaks_the_film(events: list[tuple[float, str, str]]) -> None:
    film(cast(*events))


def write_result(run: Path, nodeid: str, **data: object) -> Path:
    directory = run / folder_name(nodeid) / f"attempt-{data.get('attempt', 1)}"
    directory.mkdir(parents=True)
    whole = {"nodeid": nodeid, "attempt": 1, "status": "passed", "duration_seconds": 1, "citations": []} | data
    (directory / "result.json").write_text(json.dumps(whole))
    return directory


def test_results_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    write_result(tmp_path, "t.py::good")
    (write_result(tmp_path, "t.py::torn") / "result.json").write_text('{"nodeid": ')
    (write_result(tmp_path, "t.py::deep") / "result.json").write_text("[" * 100_000)
    (write_result(tmp_path, "t.py::odd") / "result.json").write_text('{"nodeid": 5, "status": {}}')
    run = load(tmp_path)
    assert [test.nodeid for test in run.tests] == ["t.py::good"]
    assert len(run.unreadable) == 3


def test_odd_data_makes_no_page_fail(tmp_path: Path) -> None:
    odd: object
    for number, odd in enumerate([None, 5, "x", [1], [{"kind": "block"}], {"a": "b"}]):
        data = dict.fromkeys(["citations", "commands", "notes", "docstring", "error", "started_at"], odd)
        directory = write_result(tmp_path, f"t.py::{number}", **data)
        lines = [odd, {"command": odd}, {"command": 1, "event": "start", "text": odd, "at": odd}]
        lines += [
            {"command": 1, "event": "output", "text": odd, "t": odd},
            {"command": 1, "event": "end", "cast": odd},
        ]
        (directory / "transcript.jsonl").write_text("\n".join(map(json.dumps, lines)))
        (directory / "a.cast").write_text(json.dumps(odd))
        (directory / "b.cast").write_text('{"version": 3, "term": {"cols": "x"}}\n[1, "o", "x"]')
    assert "</html>" in page(tmp_path)


def test_last_attempt_counts_and_a_dead_worker_s_test_was_killed(tmp_path: Path) -> None:
    write_result(tmp_path, "t.py::flaky", status="failed")
    write_result(tmp_path, "t.py::flaky", attempt=2)
    write_result(tmp_path, "t.py::dead", status="running", pid=2**22 + 1)
    ours, since = os.getpid(), started_at(os.getpid())
    write_result(tmp_path, "t.py::at_work", status="running", pid=ours, pid_started=since)
    write_result(tmp_path, "t.py::at_work_as_older_ones_say", status="running", pid=ours)
    write_result(tmp_path, "t.py::dead_and_its_number_is_anothers", status="running", pid=ours, pid_started=1)
    assert {test.nodeid: test.last.status for test in load(tmp_path).tests} == {
        "t.py::flaky": "passed",
        "t.py::dead": "killed",
        "t.py::at_work": "running",
        "t.py::at_work_as_older_ones_say": "running",
        "t.py::dead_and_its_number_is_anothers": "killed",
    }


def test_all_ways_to_cite_lead_to_the_block(tmp_path: Path) -> None:
    from supervisor.e2e.tutorial.blocks import parse

    script = tmp_path / "tutorial.sh"
    script.write_text("# Do it\ntool do \\\n  --now\n\n# Other\ntool other\n")
    block = parse(script.read_text()).blocks[0]
    quoted = "Does it.\n\nTutorial block:\n    # Do it\n    tool do --now\n"
    write_result(tmp_path, "t.py::a", citations=[{"kind": "block", "text": "# Do it\ntool do \\\n  --now"}])
    write_result(tmp_path, "t.py::b", citations=[{"kind": "id", "text": block.id}])
    write_result(tmp_path, "t.py::c", docstring=quoted)
    write_result(tmp_path, "t.py::d", citations=[{"kind": "block", "text": "tool don't"}])
    write_result(tmp_path, "t.py::e")
    made = group([test.last for test in load(tmp_path).tests], script)
    assert [each.tests for each in made.groups] == [[0, 1, 2], []]
    assert (made.stale, made.uncited) == ([3], [4])


def test_large_run_stays_a_page(tmp_path: Path) -> None:
    """2,000 tests with transcripts are a few megabytes, since details are packed."""
    for number in range(2000):
        directory = write_result(
            tmp_path, f"t.py::test_{number}", citations=[{"kind": "block", "text": f"tool {number % 500}"}]
        )
        events = [{"event": "start", "command": 1, "text": "tool x"}]
        events += [{"event": "output", "command": 1, "stream": "stdout", "t": 0.1, "text": "line of output\n" * 100}]
        (directory / "transcript.jsonl").write_text("\n".join(map(json.dumps, events)))
    begun = time.monotonic()
    path = write(tmp_path)
    print(f"{path.stat().st_size / 1e6:.1f} MB in {time.monotonic() - begun:.1f} s")
    assert path.stat().st_size < 5_000_000


def test_command_line(tmp_path: Path) -> None:
    write_result(tmp_path, "t.py::a")
    app = typer.Typer()
    app.command()(view)
    said = CliRunner().invoke(app, [str(tmp_path), "-o", str(tmp_path / "out.html")], obj=Session())
    assert said.exit_code == 0
    assert said.output.strip() == str(tmp_path / "out.html")
    assert "</html>" in (tmp_path / "out.html").read_text()


CITING = '''
import pytest

def test_itself(e2e):
    """# Do it
    tool do \\\\
      --now
    """

def test_named_by_slug(e2e):
    e2e.tutorial("tool-other")

@pytest.mark.tutorial("tool-other")
class TestMarked:
    def test_inside(self, e2e):
        pass

def test_two_at_once(e2e):
    e2e.write_tutorial_block("""
        # Do it
        tool do --now

        # Other
        tool other
    """)

def test_escaped(e2e):
    """It prints.

    Tutorial block:
        # Print
        printf 'a\\n'
    """

def test_stale(e2e):
    e2e.tutorial("nothing")

def test_nothing(e2e):
    pass
'''


def test_it_says_what_the_check_of_the_tutorial_says(tmp_path: Path) -> None:
    """Whatever form a citation has, and also of tests that did not run to their end."""
    script, tests = tmp_path / "tutorial.sh", tmp_path / "test_cites.py"
    script.write_text("# Do it\ntool do \\\n  --now\n\n# Other\ntool other\n\n# Print\nprintf 'a\\n'\n")
    tests.write_text(CITING)
    checked = check(script, [tests], today=date.min)
    for test in checked.tests:
        write_result(tmp_path / "run", test.id, cites=cites(tests, test.name), status="skipped")
    run = load(tmp_path / "run")
    made = group([test.last for test in run.tests], script)
    seen = {each.id: sorted(run.tests[number].nodeid for number in each.tests) for each in made.groups}
    assert seen == {block: sorted(cited.test.id for cited in by) for block, by in checked.by_block.items()}
    assert [run.tests[number].nodeid for number in made.stale] == [stale.test.id for stale in checked.stale]
    assert [run.tests[number].nodeid for number in made.uncited] == [test.id for test in checked.uncited_tests]
    assert [len(cited) for cited in seen.values()] == [2, 3, 1]
