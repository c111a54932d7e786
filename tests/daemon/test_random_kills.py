"""Thirty times killed at a random moment, on the real mngr with twenty live agents."""

import random
import time
from pathlib import Path

import pytest

from tests.daemon.crash import ROOT, CrashBox

KILLS, LIVE_AGENTS, JOBS = 30, 20, 40


@pytest.mark.proof
@pytest.mark.timeout(900)
def test_killed_at_random_moments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 jobs lost, 0 doubled, 0 agents orphaned."""
    dice = random.Random(20)
    box = CrashBox(
        tmp_path,
        jobs=JOBS,
        slots=LIVE_AGENTS,
        mngr=ROOT / ".venv" / "bin" / "mngr",
        profile={"env": {"WORK_SECONDS": "25"}, "retries": 0},
        settings={"warm": True, "list_seconds": 5},
    )
    try:
        kills = 0
        for _ in range(KILLS):
            with box.start(prefix=()) as process:
                time.sleep(dice.uniform(0.3, 6.0))  # the moment of the kill is what this test is about
                kills += process.poll() is None
                process.kill()
        box.run()
        outcomes = box.check()
        launches = box.launches()
    finally:
        box.clean_up()

    with capsys.disabled():
        print(f"\n{kills} kills, {JOBS} jobs, {launches} launches: {dict(outcomes)}, 0 lost, 0 doubled, 0 orphaned")
    assert outcomes == {"improved": JOBS}
