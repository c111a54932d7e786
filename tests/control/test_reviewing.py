"""The branch of a sealed batch is reviewed over the API, and revised for it."""

from pathlib import Path
from typing import Any

import pytest

from supervisor.control.client import Answered
from supervisor.model.state import State
from tests.agent_clone import git
from tests.control.reviewed import TEXT, Reviewed, reviewed
from tests.control.served import served
from tests.control.test_api import TESTS, reading
from tests.flow.world import replayed
from tests.waiting import until


def states(data: Any) -> dict[str, str]:
    return {row["commit"]: row["state"] for row in data["rows"]}


async def revised(on: Reviewed) -> Any:
    await until("the branch is revised", lambda: not on.api.loop.state.reviews[on.batch].due)
    return await on.look()


async def test_the_commits_of_a_branch_are_listed_with_their_evidence(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        data = await on.look()
        assert (data["branch"], data["revising"], data["trouble"]) == (on.branch, False, None)
        assert data["counts"] == {"total": 3, "accepted": 0, "dropped": 0, "unreviewed": 3}
        assert list(states(data)) == [on.tests, on.fix, on.other]
        first, second, _ = data["rows"]
        assert (first["kind"], [job["id"] for job in first["jobs"]]) == (
            "TEST/DOC",
            [f"{on.batch}.1", f"{on.batch}.2"],
        )
        assert (second["kind"], second["jobs"][0]["test"]) == ("FIX_IMPL", TESTS[1])


async def test_a_dropped_commit_is_reverted_with_who_asked(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        answer = await on.say("dropped", on.other[:10], reason="it shouts")
        assert (answer["changed"], answer["commits"]) == (True, [on.other])
        data = await revised(on)
        row = next(row for row in data["rows"] if row["commit"] == on.other)
        assert (row["state"], row["is_out"], row["reason"]) == ("dropped", True, "it shouts")
        assert row["reverted_by"] == on.tip()
        assert git(on.api.repo, "show", f"{on.branch}:app.py") == TEXT.strip()
        assert f"Supervisor-Asked-By: {row['by']}" in git(on.api.repo, "log", "-1", "--format=%B", on.branch)
        assert (await on.say("dropped", on.other))["changed"] is False


async def test_it_can_be_taken_back(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        await on.say("dropped", on.other)
        await revised(on)
        await on.say("unreviewed", on.other)
        data = await revised(on)
        assert (states(data)[on.other], data["counts"]["unreviewed"]) == ("unreviewed", 3)
        assert git(on.api.repo, "diff", on.other, on.branch) == ""


async def test_the_report_and_the_events_tell_of_it(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        await on.say("accepted", on.tests)
        await on.say("dropped", on.other)
        await revised(on)
        report = await on.api.call(reading(f"/v1/batches/{on.batch}/report"))
        assert [each["state"] for each in report["commits"]] == ["accepted", "unreviewed", "dropped"]
        assert [bool(job["dropped_by"]) for job in report["jobs"]] == [False, False, True]
        events = (await on.api.call(reading("/v1/events")))["rows"]
        told = [(event["batch"], event.get("verdict")) for event in events if event["kind"] == "commits-reviewed"]
        assert told == [(on.batch, "accepted"), (on.batch, "dropped")]


async def test_a_restart_knows_what_was_said_of_a_sealed_batch(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        await on.say("dropped", on.other)
        await revised(on)
        again: State = replayed([record.event for record in on.api.journal.replay()])
        assert again.reviews == on.api.loop.state.reviews
        assert on.batch not in again.batches


async def test_what_collides_is_told(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        await on.say("dropped", on.fix)
        data = await revised(on)
        row = next(row for row in data["rows"] if row["commit"] == on.fix)
        assert (row["state"], row["is_out"]) == ("dropped", False)
        assert "it can't be reverted alone" in row["problem"]
        assert on.tip() == on.other


async def test_what_can_not_be_reviewed_is_refused(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        for commits, code in ((["abcd1234"], 5), (["not hex"], 2)):
            with pytest.raises(Answered) as refused:
                await on.say("dropped", *commits)
            assert refused.value.exit_code == code, refused.value.message


async def test_a_batch_that_is_not_over_is_not_reviewed_yet(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        with pytest.raises(Answered, match=f"batch {batch} is not over") as refused:
            await api.call(reading(f"/v1/batches/{batch}/review"))
        assert refused.value.exit_code == 4
