"""Work that is not merged, and jobs of batches that are over, over the API."""

from pathlib import Path

import pytest

from supervisor.control.client import Answered
from supervisor.model import event as ev
from supervisor.model.request import Cancel
from tests.agent_clone import commit, git
from tests.control.served import HEAD, Served, served
from tests.control.test_api import TESTS, reading, saying
from tests.waiting import until


async def cancelled(api: Served) -> str:
    """The first job is verified, the second is cancelled at work, and all of it is sealed."""
    batch = await api.submit(*TESTS)
    api.loop.inbox.tell(ev.WorkPublished(api.desk.clock(), batch, 1, 1))
    await until("one is over", lambda: api.loop.state.batches[batch].job(1).state.is_over)
    await api.desk.asked(Cancel(batch))
    await until("it is sealed", lambda: batch not in api.loop.state.batches)
    return batch


async def test_verified_work_of_a_cancelled_batch_is_listed(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await cancelled(api)
        for path in ("/v1/work", f"/v1/batches/{batch}/work", f"/v1/jobs/{batch}.1/work"):
            [row] = (await api.call(reading(path)))["rows"]
            assert (row["job"], row["ledger"], row["head"]) == (f"{batch}.1", "rescued", HEAD)
            assert row["ref"] == f"refs/supervisor/{batch}/1/1"
            assert row["why"] == f"kept under refs/supervisor/{batch}/1/1"
        assert (await api.call(reading(f"/v1/jobs/{batch}.2/work")))["rows"] == []
        [shown] = (await api.call(reading(f"/v1/jobs/{batch}.1")))["job"]["work"]
        assert shown["ref"] == f"refs/supervisor/{batch}/1/1"


async def test_it_is_listed_when_the_events_of_its_batch_are_gone(tmp_path: Path) -> None:
    """They are forgotten before the refs of work that is not merged."""
    async with served(tmp_path) as api:
        batch = await cancelled(api)
        [before] = (await api.call(reading(f"/v1/batches/{batch}/work")))["rows"]
        await api.journal.forget(api.desk.clock() + 1)
        assert await api.journal.read(batch=batch) == []
        [after] = (await api.call(reading(f"/v1/batches/{batch}/work")))["rows"]
        assert after == before
        with pytest.raises(Answered, match="are no longer kept") as refused:
            await api.call(saying(f"/v1/batches/{batch}/retry"))
        assert refused.value.exit_code == 4


async def test_what_is_merged_is_not_listed(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="fixed") as api:
        batch = await api.submit(*TESTS)
        await until("it is sealed", lambda: batch not in api.loop.state.batches)
        assert (await api.call(reading("/v1/work")))["rows"] == []


async def test_work_is_taken_as_a_branch_and_never_over_another_one(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await cancelled(api)
        bare = api.desk.store.bare(api.repo)  # type: ignore[attr-defined]
        git(api.repo, "switch", "-qc", "elsewhere")
        head = commit(api.repo, "work", new="1\n")
        git(api.repo, "switch", "-q", "main")
        git(api.repo, "branch", "-qD", "elsewhere")
        git(bare, "fetch", "-q", str(api.repo), f"{head}:refs/supervisor/{batch}/1/1")
        api.player.head = head
        other = await cancelled(api)
        git(bare, "update-ref", f"refs/supervisor/{other}/1/1", head)
        before = git(api.repo, "for-each-ref"), git(api.repo, "status", "--porcelain")

        taken = await api.call(lambda client: client.post(f"/v1/jobs/{other}.1/take", {}))

        [row] = taken["rows"]
        assert (taken["changed"], row["branch"]) == (True, f"supervisor/work/{other}.1")
        assert git(api.repo, "rev-parse", row["branch"]) == head
        git(api.repo, "update-ref", "-d", f"refs/heads/{row['branch']}")
        assert (git(api.repo, "for-each-ref"), git(api.repo, "status", "--porcelain")) == before
        named = {"branch": "mine"}
        assert (await api.call(lambda client: client.post(f"/v1/batches/{other}/take", named)))["changed"] is True
        assert (await api.call(lambda client: client.post(f"/v1/batches/{other}/take", named)))["changed"] is False
        with pytest.raises(Answered, match="a branch main already, with other commits") as refused:
            await api.call(lambda client: client.post(f"/v1/jobs/{other}.1/take", {"branch": "main"}))
        assert refused.value.exit_code == 4
        api.repo.rename(tmp_path / "moved")
        with pytest.raises(Answered, match="there is no repository") as refused:
            await api.call(lambda client: client.post(f"/v1/jobs/{other}.1/take", {}))
        assert "--repo DIR" in refused.value.hint
        moved = {"repo": str(tmp_path / "moved")}
        assert (await api.call(lambda client: client.post(f"/v1/jobs/{other}.1/take", moved)))["changed"] is True


async def test_what_is_not_there_can_not_be_taken(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await cancelled(api)
        for job, code in ((2, 5), (1, 5), (9, 5)):  # nothing was done; not kept any more; no such job
            with pytest.raises(Answered) as refused:
                await api.call(saying(f"/v1/jobs/{batch}.{job}/take", {}))
            assert refused.value.exit_code == code
            assert refused.value.hint


async def test_jobs_of_a_batch_that_is_over_go_again_as_a_batch(tmp_path: Path) -> None:
    """From the same commit, though the repository has moved on; said twice, it is one."""
    async with served(tmp_path) as api:
        old = await cancelled(api)
        base = git(api.repo, "rev-parse", "HEAD")
        now = commit(api.repo, "later", more="1\n")
        again = await api.call(saying(f"/v1/batches/{old}/retry"))
        assert (again["changed"], again["retry_of"], again["jobs"]) == (
            True,
            old,
            [f"{again['batch']}.{n}" for n in (1, 2)],
        )
        found = api.loop.state.batches[again["batch"]]
        assert (found.tests, found.base, found.origin.retry_of) == (TESTS[1:], base, old)
        twice = await api.call(saying(f"/v1/batches/{old}/retry"))
        assert (twice["changed"], twice["batch"]) == (False, again["batch"])
        one = await api.call(lambda client: client.post(f"/v1/jobs/{old}.1/retry", {"onto": "HEAD"}))
        found = api.loop.state.batches[one["batch"]]
        assert (found.tests, found.base) == (TESTS[:1], now)
        assert (await api.call(reading(f"/v1/batches/{one['batch']}")))["batch"]["retry_of"] == old


async def test_a_batch_that_went_well_has_nothing_to_retry(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="fixed") as api:
        batch = await api.submit(*TESTS)
        await until("it is sealed", lambda: batch not in api.loop.state.batches)
        assert (await api.call(saying(f"/v1/batches/{batch}/retry")))["changed"] is False
        with pytest.raises(Answered, match="no-such-rev is not a commit") as refused:
            await api.call(lambda client: client.post(f"/v1/jobs/{batch}.1/retry", {"onto": "no-such-rev"}))
        assert refused.value.exit_code == 4


async def test_the_target_may_be_gone_when_its_jobs_go_again(tmp_path: Path) -> None:
    """What the old batch started from is kept."""
    async with served(tmp_path) as api:
        old = await cancelled(api)
        api.repo.rename(tmp_path / "moved")
        again = await api.call(saying(f"/v1/batches/{old}/retry"))
        assert (again["changed"], api.loop.state.batches[again["batch"]].tests) == (True, TESTS[1:])
