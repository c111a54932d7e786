"""Whatever mngr does wrong, each job ends once, and well where it can."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.crash import CrashBox

#: deadlines short enough to see a hang end
QUICK = {"call_timeout_seconds": 3, "create_timeout_seconds": 4, "list_seconds": 2}

FAULTS: dict[str, list[dict[str, Any]]] = {
    "create hangs": [{"verb": "create", "do": "hang", "nth": [1]}],
    "create hangs after it is done": [{"verb": "create", "do": "hang-after", "nth": [1]}],
    "create answers garbage": [{"verb": "create", "do": "garbage", "nth": [1]}],
    "create fails although it is done": [{"verb": "create", "do": "exit1", "nth": [1]}],
    "create is slow": [{"verb": "create", "do": "slow", "seconds": 2, "nth": [1]}],
    "create finds its id taken": [{"verb": "create", "do": "duplicate", "nth": [1]}],
    "create dies early": [{"verb": "create", "do": "killed-early", "nth": [1]}],
    "create dies half way": [{"verb": "create", "do": "killed-half", "nth": [1]}],
    "create dies before it answers": [{"verb": "create", "do": "killed", "nth": [1]}],
    "the provider is down for a while": [{"do": "down", "nth": [1, 2, 3]}],
    "list answers garbage": [{"verb": "list", "do": "garbage"}],
    # Whether an agent was made by a daemon that was killed, only a listing can tell: until then nothing may be done.
    "list answers garbage for a while": [{"verb": "list", "do": "garbage", "nth": [1, 2, 3]}],
    "list hangs": [{"verb": "list", "do": "hang"}],
    "list fails with a good answer": [{"verb": "list", "do": "exit1"}],
    "list floods": [{"verb": "list", "do": "flood", "nth": [1]}],
    "destroy hangs": [{"verb": "destroy", "do": "hang", "nth": [1]}],
    "destroy fails although it is done": [{"verb": "destroy", "do": "exit1", "nth": [1]}],
    "destroy dies": [{"verb": "destroy", "do": "killed", "nth": [1]}],
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.proof
def test_mngr_goes_wrong(tmp_path: Path, fault: str) -> None:
    """One fault of mngr costs time, never a job."""
    box = CrashBox(tmp_path, jobs=2, settings=QUICK)
    box.goes_wrong(*FAULTS[fault])

    box.run()

    assert box.check() == {"improved": 2}


@pytest.mark.proof
def test_agents_vanish(tmp_path: Path) -> None:
    """An agent that is removed behind our back is missed, and its job goes again."""
    box = CrashBox(tmp_path, jobs=2, settings=QUICK, profile={"env": {"WORK_SECONDS": "6"}, "retries": 3})
    box.goes_wrong({"verb": "list", "do": "vanish", "nth": [2]})

    box.run()

    assert Counter(box.check()) == {"improved": 2}


@pytest.mark.parametrize(
    "fault",
    [
        "create hangs",
        "create dies half way",
        "create dies before it answers",
        "list answers garbage for a while",
        "destroy dies",
    ],
)
@pytest.mark.parametrize("die_at", [2, 3, 4, 6, 8])
@pytest.mark.proof
def test_mngr_goes_wrong_and_the_daemon_is_killed(tmp_path: Path, fault: str, die_at: int) -> None:
    """A fault of mngr, and the daemon killed on top of it."""
    box = CrashBox(tmp_path, jobs=2, settings=QUICK)
    box.goes_wrong(*FAULTS[fault])

    box.run(die_at=die_at)
    box.run()

    assert box.check() == {"improved": 2}
