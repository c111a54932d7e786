"""What a branch means for a job that the work of a sibling has fixed: it needs that work, and its test must pass."""

import pytest

from supervisor.flow.batches import unmerged
from supervisor.integration.rules.ledger import ChangeRow
from supervisor.integration.rules.ranking import must_pass
from supervisor.integration.rules.siblings import told
from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.model.change import Change
from supervisor.model.effect import Collect, Launch, RunAtBase, Verify
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.profile import Profile
from tests.flow.world import World

HOLDING = Profile(survey="full", hold_siblings=True)
HELPED = "its test passes with the work of b.1"


def mended() -> World:
    """Job 1 is fixed, and so is job 2, by its work. Job 3 fails elsewhere, and is at work."""
    world = World(local=2).submit(tests=3, profile=HOLDING).do(RunAtBase, Launch)
    return world.publish().do(Collect, Verify, Verify)


def row(batch: Batch, fate: Fate) -> LedgerRow:
    return told(batch, {**unmerged(batch), 1: LedgerRow(fate)})[2]


def proved_by(batch: Batch, fate: Fate) -> tuple[str, ...]:
    return must_pass(batch, [ChangeRow(Change(1, "c0de", "FIX_IMPL", "pears", ("shop.py",), "p1"), fate)])


def test_its_row_is_empty_and_names_whose_work_it_needs() -> None:
    batch = mended().batch()
    for fate in (Fate.MERGED, Fate.DUPLICATE):
        assert row(batch, fate) == LedgerRow(Fate.EMPTY, HELPED)
        assert proved_by(batch, fate) == batch.tests[:2], "and its test must pass on the branch"


@pytest.mark.parametrize("fate", [Fate.CONFLICT, Fate.REJECTED])
def test_without_that_work_on_the_branch_its_row_says_that_its_test_still_fails(fate: Fate) -> None:
    batch = mended().batch()
    found = row(batch, fate)
    assert (found.fate, found.detail) == (Fate.EMPTY, f"{HELPED}, which is not on the branch")
    assert found.doubts == ("its test still fails: the work of b.1, which it needs, is not on the branch",)
    assert proved_by(batch, fate) == ()


def test_other_work_of_the_same_job_is_not_that_work() -> None:
    world = mended().retry(1).do(Launch).publish()
    [effect] = world.pending(Collect)
    key = effect.attempt.key
    world.answer(effect, ev.WorkCollected(world.now, *key, claim="fixed", head="0ther", commits=1))
    batch = world.do(Verify).batch()
    assert "not on the branch" in row(batch, Fate.MERGED).detail
    assert proved_by(batch, Fate.MERGED) == batch.tests[:1]
