"""The log: native fields for the systemd journal, JSON elsewhere, and nothing that holds up the daemon."""

import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from supervisor.model.event import LaunchStarted, WorkPublished
from supervisor.model.state import State
from supervisor.observe import logs


@pytest.fixture(autouse=True)
def afterwards() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    root.handlers[:], root.level = handlers, level


def listening(home: Path) -> socket.socket:
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind(str(home / "journal"))
    journal.settimeout(5)
    return journal


def test_what_happens_to_a_job_can_be_searched_for_in_the_journal(tmp_path: Path) -> None:
    with listening(tmp_path) as journal:
        logs.set_up(logs.Format.JOURNAL, journal=tmp_path / "journal")
        logs.narrate(State("c0ffee"), [LaunchStarted(1, "k3f9x", 3, 1, "agent-1", "sv-k3f9x-3-1", "local", "local")])
        fields = dict(line.split(b"=", 1) for line in journal.recv(65536).splitlines())
    assert fields[b"BATCH"] == b"k3f9x"
    assert fields[b"JOB"] == b"k3f9x.3"
    assert fields[b"ATTEMPT"] == b"1"
    assert fields[b"PRIORITY"] == b"6"
    assert fields[b"MESSAGE"].startswith(b"launch-started job=k3f9x.3")


def test_a_value_of_several_lines_can_not_forge_a_field(tmp_path: Path) -> None:
    with listening(tmp_path) as journal:
        logs.set_up(logs.Format.JOURNAL, journal=tmp_path / "journal")
        structlog.get_logger().error("odd", why="first\nPRIORITY=0")
        entry = journal.recv(65536)
    assert b"WHY\n" + (16).to_bytes(8, "little") + b"first\nPRIORITY=0\n" in entry
    assert b"PRIORITY=3\n" in entry


def test_a_journal_that_is_away_holds_up_nothing(tmp_path: Path) -> None:
    logs.set_up(logs.Format.JOURNAL, journal=tmp_path / "nowhere")
    structlog.get_logger().info("fine")


def test_elsewhere_it_is_json_libraries_included(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up(logs.Format.JSON)
    logs.narrate(State("c0ffee"), [WorkPublished(1, "k3f9x", 3, 1)])
    logging.getLogger("library.part").warning("odd %s", "request")
    ours, theirs = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (ours["event"], ours["job"], ours["attempt"]) == ("work-published", "k3f9x.3", 1)
    assert (theirs["event"], theirs["logger"], theirs["level"]) == ("odd request", "library.part", "warning")
