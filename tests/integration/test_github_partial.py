"""What is done so far is offered for review, and superseded by everything."""

from dataclasses import replace
from pathlib import Path

from immutables import Map

from supervisor.flow.partial import so_far
from supervisor.model.batch import Batch, BatchState, Integrations, Result
from supervisor.model.ledger import Fate, LedgerRow
from tests.integration.test_github import BRANCH, stage
from tests.observe.night import TESTS


def at_work(batch: Batch, *over: int) -> Batch:
    """The batch while only these jobs are over, as a partial integration sees it."""
    return so_far(replace(batch, state=BatchState.RUNNING, finished_at=None), over)


async def test_what_is_done_so_far_is_offered_and_then_superseded_by_everything(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        merged = [number for number, row in on.batch.ledger.items() if row.fate is Fate.MERGED]
        ledger = Map({number: on.batch.ledger[number] for number in merged})
        part = replace(at_work(on.batch, *merged), ledger=ledger, result=Result(BRANCH), integrations=Integrations(1))
        assert (await on.device().open(part, on.head)).pull_request.endswith("/pull/1")
        left = TESTS - len(merged)
        assert on.github.body["title"].endswith(f"{left} at work")
        said = on.github.body["body"]
        assert f"{left} are still at work" in said
        assert "cancelled" not in said
        assert "rescued" not in said

        whole = replace(on.batch, result=Result(f"{BRANCH}-2"), integrations=Integrations(2))
        assert (await on.device().open(whole, on.head)).pull_request.endswith("/pull/2")
        assert "Supersedes #1, which has what was done of this batch before" in on.github.body["body"]


async def test_while_the_rest_is_at_work_nothing_is_offered_for_an_escalation_alone(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        part = replace(at_work(on.batch, *range(1, TESTS)), ledger=Map(), result=Result())
        assert (await on.device().open(part, "")).pull_request == ""
        assert not on.github.asked


async def test_an_empty_branch_of_a_batch_is_not_the_one_of_what_was_done_before(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.github.add(BRANCH)
        nothing = Map({number: LedgerRow(Fate.EMPTY) for number in range(1, TESTS + 1)})
        offer = await on.device().open(
            replace(on.batch, ledger=nothing, result=Result(), integrations=Integrations(2)), ""
        )
        assert offer.pull_request.endswith("/pull/2")
        assert on.pushed(f"{BRANCH}-2")
