"""What is done so far, asked for over the API."""

import getpass
from pathlib import Path

import pytest

from supervisor.control.client import Answered
from supervisor.model import event as ev
from supervisor.model.job import JobState
from tests.control.served import Served, served
from tests.control.test_api import TESTS, reading, saying
from tests.waiting import until


async def one_is_over(api: Served, batch: str) -> None:
    api.loop.inbox.tell(ev.WorkPublished(api.desk.clock(), batch, 1, 1))
    await until("one is over", lambda: api.loop.state.batches[batch].count(JobState.DONE))


async def test_it_is_answered_shown_and_no_news_the_second_time(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        await one_is_over(api, batch)
        assert [(await api.call(saying(f"/v1/batches/{batch}/integrate")))["changed"] for _ in "12"] == [True, False]
        found = (await api.call(reading(f"/v1/batches/{batch}")))["batch"]
        so_far = {"branch": f"supervisor/{batch}", "pull_request": None, "jobs": 1, "merged": 1}
        assert (found["state"], found["branch"], found["so_far"]) == ("running", None, so_far)
        [wanted] = [r.event for r in await api.journal.read() if isinstance(r.event, ev.PartialWanted)]
        assert (wanted.author, wanted.automatic) == (getpass.getuser(), False)


async def test_problems_are_told_while_it_runs_and_when_it_is_over(tmp_path: Path) -> None:
    """A pull request that can't be opened is a problem that stays in sight."""
    async with served(tmp_path) as api:
        api.player.problems = ("no pull request was opened: GitHub answers 500",)
        batch = await api.submit(*TESTS)
        await one_is_over(api, batch)
        await api.call(saying(f"/v1/batches/{batch}/integrate"))
        told = {"kind": "integration", "batch": batch, "message": api.player.problems[0]}
        assert (await api.call(reading("/v1/status")))["attention"] == [told]
        await api.finish(batch)
        await until("it is sealed", lambda: batch not in api.loop.state.batches)
        over = (await api.call(reading(f"/v1/batches/{batch}")))["batch"]
        assert (over["problems"], over["attention"]) == ([*api.player.problems], [])


@pytest.mark.parametrize(
    ("batch", "code", "says"), [("zzz", 5, "no batch zzz"), ("kaaaa", 4, "no finished work yet")]
)
async def test_it_is_refused_with_a_sentence_and_a_hint(tmp_path: Path, batch: str, code: int, says: str) -> None:
    async with served(tmp_path) as api:
        await api.submit(*TESTS, batch="kaaaa")
        with pytest.raises(Answered, match=says) as refused:
            await api.call(saying(f"/v1/batches/{batch}/integrate"))
        assert refused.value.exit_code == code
        assert refused.value.hint
