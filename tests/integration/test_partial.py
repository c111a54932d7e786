"""What is done so far on a branch of its own, and everything on another one at the end, on real git."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.flow.partial import so_far
from supervisor.model.event import Event, IntegrationEnded, IntegrationStarted, PartialEnded, PartialStarted
from supervisor.model.job import JobState
from supervisor.model.ledger import Fate
from supervisor.ports import Integration
from tests.agent_clone import git
from tests.daemon.crash import CrashBox
from tests.integration.workshop import DOUBLE, DOUBLED, HALF, HALVED, QUARTERED, SANE, Workshop, fates

AGENT = Path(__file__).with_name("agent")


async def partial(workshop: Workshop, number: int, *jobs: int) -> Integration:
    done = await workshop.integrator.integrate(so_far(workshop.batch, jobs), number)
    assert isinstance(done, Integration)
    return done


async def test_stragglers_are_neither_merged_nor_called_cancelled(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path).opened()
    workshop.profile = replace(workshop.profile, integrator=True)
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}), state=JobState.VERIFYING, outcome=None)
    workshop.idle(SANE)

    done = await partial(workshop, 1, 1, 3)

    assert fates(done) == {1: Fate.MERGED, 3: Fate.EMPTY}
    assert workshop.subjects(done.head) == ["[FIX_IMPL] Double"]
    assert git(workshop.repo, "rev-parse", "supervisor/b") == done.head
    assert await partial(workshop, 1, 1, 3) == done


async def test_the_last_branch_has_everything_beside_the_one_before(tmp_path: Path) -> None:
    """Both stand on the base, under names of their own; what was in conflict was set aside the first time."""
    workshop = await Workshop(tmp_path).opened()
    workshop.profile = replace(workshop.profile, verify_runs=0)  # no test is run: what is picked is what counts
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    workshop.job(HALF, ("[FIX_IMPL] Quarter", {"app__py": QUARTERED}))
    first = await partial(workshop, 1, 1, 3)
    last = await workshop.integrator.integrate(workshop.batch, 2)
    assert isinstance(last, Integration)
    assert (first.branch, last.branch) == ("supervisor/b", "supervisor/b-2")
    assert workshop.subjects(first.head) == ["[FIX_IMPL] Double", "[FIX_IMPL] Quarter"]
    assert workshop.subjects(last.head) == ["[FIX_IMPL] Double", "[FIX_IMPL] Halve"]
    assert fates(last) == {1: Fate.MERGED, 2: Fate.MERGED, 3: Fate.CONFLICT}
    assert git(workshop.repo, "rev-parse", "supervisor/b") == first.head


async def test_where_the_rest_brought_nothing_it_is_the_same_branch(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path).opened()
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    workshop.idle(HALF)
    first = await partial(workshop, 1, 1)
    last = await workshop.integrator.integrate(workshop.batch, 2)
    assert isinstance(last, Integration)
    assert (last.branch, last.head) == (first.branch, first.head)


# --- killed in the middle


def box_in(folder: Path) -> CrashBox:
    """The second job is a straggler: it is not over before the first one's work has landed."""
    waits = {"STRAGGLER": "batch.2", "WAITS_FOR": str(folder / "repo/.git/refs/heads/supervisor/batch")}
    return CrashBox(
        folder,
        jobs=2,
        profile={"command": [str(AGENT)], "integrator": True, "integrate_share": 0.5, "env": waits},
    )


def of[E: Event](box: CrashBox, kind: type[E]) -> list[E]:
    return [event for event in box.events() if isinstance(event, kind)]


def landed(box: CrashBox) -> tuple[str, str]:
    """The heads of its two branches, after a look at all that must hold."""
    [started], [partly] = of(box, PartialStarted), of(box, PartialEnded)
    assert (started.number, started.jobs) == (1, (1,))
    assert (partly.branch, partly.merged, partly.left, partly.problems) == ("supervisor/batch", 1, 1, ())
    [last], [ended] = of(box, IntegrationStarted), of(box, IntegrationEnded)
    assert (last.number, ended.branch, ended.problems) == (2, "supervisor/batch-2", ())
    assert [ended.ledger[job].fate for job in (1, 2)] == [Fate.MERGED, Fate.MERGED]
    asked = ["for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads/supervisor/"]
    found = subprocess.run(
        ["git", "-C", str(box.folder / "repo"), *asked], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert found == [f"supervisor/batch {partly.head}", f"supervisor/batch-2 {ended.head}"]
    return partly.head, ended.head


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], tuple[str, str]]:
    """The appends of a run that nobody disturbs, and its branches."""
    box = box_in(tmp_path_factory.mktemp("whole"))
    return box.run(), landed(box)


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("kind", "die_before"),
    [
        ("partial-started", False),
        ("partial-ended", True),
        pytest.param("partial-ended", False, marks=pytest.mark.proof),
    ],
)
def test_killed_in_the_middle_it_is_the_same_branch_and_there_is_one(
    tmp_path: Path, uninterrupted: tuple[list[str], tuple[str, str]], kind: str, die_before: bool
) -> None:
    lines, heads = uninterrupted
    box = box_in(tmp_path)
    box.run(die_at=next(n for n, line in enumerate(lines, 1) if kind in line), die_before=die_before)
    box.run()
    assert landed(box) == heads
