"""What a drill is made of, one part at a time; the whole of it is in tests/remote."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.rehearsal.drill import intact
from supervisor.rehearsal.drill.configuration import PARTS, profile_of, written
from supervisor.rehearsal.drill.course import STATIONS, Course
from supervisor.rehearsal.drill.processes import kill_calls
from supervisor.rehearsal.drill.repository import TEST, TOOLS, lay_out
from supervisor.settings import Settings, load, resolve
from tests.properties import examples
from tests.waiting import until_sync

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)


def configured(**given: Any) -> Settings:
    return Settings.model_validate({"state_dir": "/srv/state", "socket": "/srv/ctl.sock", **given})


@settings(max_examples=examples(1 / 3))
@given(args=st.lists(TEXT, max_size=3), command=st.text("abc/ \"'\\", min_size=1))
def test_any_pools_make_a_configuration_that_loads(
    tmp_path_factory: pytest.TempPathFactory, args: list[str], command: str
) -> None:
    folder = tmp_path_factory.mktemp("drill")
    pools = [
        {"name": "local", "slots": "auto"},
        {"name": "cloud", "provider": "modal", "slots": 100, "build_args": args, "launch_rate": 2.5},
        {"name": "far", "provider": "pool", "hosts": ["box1"], "verify_slots": 3},
    ]
    judged = configured(pools=pools, mngr={"command": command}, profiles={"p": {"pools": ["far"]}})
    (folder / "config.toml").write_text(written(judged, folder), encoding="utf-8")
    made = load(folder / "config.toml")
    assert [(pool.name, pool.provider, pool.build_args) for pool in made.pools] == [
        (pool.name, pool.provider, pool.build_args) for pool in judged.pools
    ]
    assert made.mngr.command == command
    assert made.mngr_home == folder / "home"
    for pool in made.pools:
        assert all(resolve(made, profile_of(pool.name, part)).pools == (pool.name,) for part in PARTS)


def test_a_pool_verifies_where_its_profile_says(tmp_path: Path) -> None:
    pools = [{"name": "local"}, {"name": "far", "provider": "pool", "hosts": ["box1"]}]
    profiles = {"p": {"pools": ["far", "local"], "verify_pools": ["local"]}}
    (tmp_path / "config.toml").write_text(written(configured(pools=pools, profiles=profiles), tmp_path))
    made = load(tmp_path / "config.toml")
    assert resolve(made, "far-life").verify_pools == ("local",)
    assert resolve(made, "local-life").verify_pools == ()


def test_its_repository_brings_a_pytest_for_hosts_that_have_none(tmp_path: Path) -> None:
    """Run without any site-packages, as on a new host."""
    lay_out(tmp_path / "repo")
    words = [sys.executable, "-S", "-m", "pytest", "-q", TEST]
    env = {"PYTHONPATH": TOOLS, "PATH": os.environ["PATH"]}
    done = subprocess.run(words, cwd=tmp_path / "repo", env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr


# --- the ledger

ONCE = ("batch-submitted", "job-ended", "batch-finished", "batch-sealed")
OF_ATTEMPTS = ("launch-started", "launch-succeeded", "work-published", "work-collected", "agent-released")


def events(*more: str) -> list[dict[str, Any]]:
    kinds = ("batch-submitted", *OF_ATTEMPTS, "job-ended", "batch-finished", "batch-sealed", *more)
    return [{"seq": n, "kind": kind, "attempt": 1, "at": f"2026-01-01T00:00:{n:02}Z"} for n, kind in enumerate(kinds)]


GOOD = {"ledger": {"merged": 1}, "outcomes": {"improved": 1}, "branch": "supervisor/k3f9x"}
JOBS = [{"ledger": "merged", "ledger_why": None}]


def test_a_batch_that_has_everything_once_is_intact() -> None:
    assert intact.damage(events(), GOOD, JOBS) == ""


@pytest.mark.parametrize("kind", ONCE + OF_ATTEMPTS)
def test_what_happened_twice_is_told(kind: str) -> None:
    assert kind in intact.damage(events(kind), GOOD, JOBS)


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        ({**GOOD, "ledger": {"merged": 1, "empty": 1}}, "2 entries"),
        ({**GOOD, "ledger": {}}, "0 entries"),
        ({**GOOD, "ledger": {"rejected": 1}}, "not on the branch"),
        ({**GOOD, "branch": None}, "no branch"),
    ],
)
def test_what_is_missing_is_told(batch: dict[str, Any], says: str) -> None:
    assert says in intact.damage(events(), batch, JOBS)


@given(cut=st.integers(0, 8))
def test_a_history_may_only_grow(cut: int) -> None:
    whole = events()
    assert intact.lost(whole[:cut], whole) == ""
    assert intact.lost([*whole[:cut], {"seq": 99}], whole)


def test_a_course_tells_how_far_it_has_come() -> None:
    course = Course("local", "k3f9x", 90.0)
    course.events = [event for event in events() if event["kind"] in {*STATIONS.values(), "batch-submitted"}]
    assert [name for name, _ in course.reached()] == ["launch", "work and publish", "collect"]
    assert course.waits_at == "verify"
    course.is_judged = False
    assert [name for name, _ in course.reached()][-1] == "put away"


def test_only_calls_below_the_daemon_are_killed(tmp_path: Path) -> None:
    """A call of mngr that somebody else makes is none of ours."""
    mngr = tmp_path / "mngr"
    mngr.write_text("#!/bin/sh\nread end\n")
    mngr.chmod(0o755)
    daemon_of = ["sh", "-c", f"{mngr} create; echo ended $?"]
    with (
        subprocess.Popen([str(mngr), "list"], stdin=subprocess.PIPE) as other,
        subprocess.Popen(daemon_of, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as daemon,
    ):
        until_sync("a call is under way, and killed", lambda: kill_calls(daemon.pid, str(mngr)))
        assert daemon.communicate()[0] == "ended 137\n"
        assert other.poll() is None
        other.communicate(b"\n")
