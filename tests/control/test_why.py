"""`GET /v1/why` and the verb: jobs, batches and pools, open and sealed."""

from pathlib import Path

import pytest

from supervisor.control.client import Answered
from supervisor.model.job import JobState
from tests.cli.running import ctl
from tests.control.served import Served, served
from tests.control.test_api import reading, saying
from tests.waiting import until

TESTS = ("tests/test_it.py::test_one", "tests/test_it.py::test_two[c]")


async def why(api: Served, subject: str) -> str:
    said: str = (await api.call(reading(f"/v1/why/{subject}")))["why"]
    return said


async def test_it_answers_for_jobs_batches_and_pools(tmp_path: Path) -> None:
    async with served(tmp_path, slots=1) as api:
        await api.submit(*TESTS, batch="k3f9x")
        await until("the first is at work", lambda: api.loop.state.batches["k3f9x"].count(JobState.RUNNING))
        assert "The pool local is full: 1 of 1 slot in use." in await why(api, "k3f9x.2")
        assert "Its agent sv-k3f9x-1-1 works in the pool local" in await why(api, "k3.1")
        assert "1 agent is at work for it." in await why(api, "k3f9x")
        assert "Jobs that may use it wait: 1 of k3f9x." in await why(api, "local")
        found = await api.call(reading("/v1/why/k3f9x.2"))
        assert (found["subject"], found["kind"], found["state"]) == ("k3f9x.2", "job", "queued")
        assert [reason["cause"] for reason in found["reasons"]] == ["pool-full"]
        assert found["schema_version"] == 1


async def test_what_is_sealed_is_told_from_its_summary(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        await api.call(saying(f"/v1/batches/{batch}/cancel"))
        await api.finish(batch)
        await until("it is sealed", lambda: batch not in api.loop.state.batches)
        assert "It was cancelled by" in await why(api, batch)
        assert "The ledger says" in await why(api, f"{batch}.1")


@pytest.mark.parametrize("subject", ["zzz", "zzz.1", "k3f9x.9", "k3f9x.", ".1"])
async def test_nothing_is_said_of_what_there_is_not(tmp_path: Path, subject: str) -> None:
    async with served(tmp_path) as api:
        await api.submit(*TESTS, batch="k3f9x")
        with pytest.raises(Answered) as answered:
            await why(api, subject)
        assert answered.value.exit_code == 5


async def test_the_verb_says_it_as_text_and_as_json(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        (await ctl(tmp_path, "why")).refused(5, "there is no batch yet")
        await api.submit(*TESTS, batch="k3f9x")
        await ctl(tmp_path, "pause", "k3f9x")
        assert "The batch k3f9x was paused by " in (await ctl(tmp_path, "why")).out
        said = (await ctl(tmp_path, "why", "k3f9x", "--json")).json
        assert "batch-paused" in [reason["cause"] for reason in said["reasons"]]
        (await ctl(tmp_path, "why", "cloud")).refused(5, "there is no batch or pool cloud")


async def test_times_are_said_by_the_clock_of_who_asks(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.submit(*TESTS, batch="k3f9x")
        await ctl(tmp_path, "pause", "k3f9x")
        assert " UTC," in (await ctl(tmp_path, "why", "k3f9x", TZ="UTC")).out
        there = (await ctl(tmp_path, "why", "k3f9x", TZ="Asia/Tokyo")).out
        assert " UTC" not in there
