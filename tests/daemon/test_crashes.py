"""However often the daemon is killed, and wherever: no job is lost, none doubled, and no agent orphaned."""

from pathlib import Path

import pytest

from tests.daemon.crash import CrashBox

#: An uninterrupted batch of two jobs writes about so many times; the last ones of the range are never reached.
APPENDS = 15


@pytest.mark.parametrize("die_before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("die_at", [2, 5, 9])
def test_killed_once(tmp_path: Path, die_at: int, die_before: bool) -> None:
    """Killed at one append, the next daemon brings the batch to its end."""
    box = CrashBox(tmp_path, jobs=2)

    box.run(die_at=die_at, die_before=die_before)
    box.run()

    assert box.check() == {"improved": 2}


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("die_before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("die_at", range(1, APPENDS + 1))
def test_killed_at_every_append(tmp_path: Path, die_at: int, die_before: bool) -> None:
    """Every transition of a job's life, before it is written and just after."""
    box = CrashBox(tmp_path, jobs=2)

    box.run(die_at=die_at, die_before=die_before)
    box.run()

    assert box.check() == {"improved": 2}
