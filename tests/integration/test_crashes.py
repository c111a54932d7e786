"""Killed wherever in an integration, the next daemon comes to the same branch, and there is one."""

import subprocess
from pathlib import Path

import pytest

from supervisor.model.event import IntegrationEnded, IntegrationStarted, JudgementWanted
from supervisor.model.ledger import Fate
from tests.daemon.box import agents_in_mngr
from tests.daemon.crash import CrashBox

AGENT = Path(__file__).with_name("agent")
#: an uninterrupted batch writes about so many times; the last of them are never reached
APPENDS = range(6, 30)


def box_in(folder: Path) -> CrashBox:
    return CrashBox(folder, jobs=2, profile={"command": [str(AGENT)], "integrator": True})


def landed(box: CrashBox) -> str:
    """The head of its only branch, after a look at all that must hold."""
    events = box.events()
    assert len([event for event in events if isinstance(event, IntegrationStarted)]) == 1
    assert len([event for event in events if isinstance(event, JudgementWanted)]) == 1
    [ended] = [event for event in events if isinstance(event, IntegrationEnded)]
    assert [ended.ledger[job].fate for job in (1, 2)] == [Fate.MERGED, Fate.MERGED]
    assert ended.problems == ()
    asked = ["for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads/supervisor/"]
    found = subprocess.run(
        ["git", "-C", str(box.folder / "repo"), *asked], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert found == [f"supervisor/batch {ended.head}"]
    assert not agents_in_mngr(box.state_dir), "agents were left in mngr"
    return ended.head


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], str]:
    """The appends of a run that nobody disturbs, and its branch."""
    box = box_in(tmp_path_factory.mktemp("whole"))
    return box.run(), landed(box)


def append_of(lines: list[str], kind: str) -> int:
    return next(number for number, line in enumerate(lines, 1) if kind in line)


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("kind", "die_before"), [("judgement-wanted", True), ("integration-ended", True)])
def test_killed_once(tmp_path: Path, uninterrupted: tuple[list[str], str], kind: str, die_before: bool) -> None:
    lines, head = uninterrupted
    box = box_in(tmp_path)
    box.run(die_at=append_of(lines, kind), die_before=die_before)
    box.run()
    assert landed(box) == head


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("die_before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("die_at", APPENDS)
def test_killed_at_every_append(
    tmp_path: Path, uninterrupted: tuple[list[str], str], die_at: int, die_before: bool
) -> None:
    box = box_in(tmp_path)
    box.run(die_at=die_at, die_before=die_before)
    box.run()
    assert landed(box) == uninterrupted[1]
