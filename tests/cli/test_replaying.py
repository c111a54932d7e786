"""A past batch under other settings, asked for on the command line."""

from collections.abc import Iterable
from pathlib import Path

from supervisor.model import event as ev
from supervisor.model.state import State
from tests.cli.running import ctl
from tests.control.served import Served, served
from tests.waiting import until

TESTS = [f"tests/test_it.py::test_{name}" for name in ("one", "two", "three", "four")]


async def a_batch(api: Served, tokens: int = 0) -> str:
    """Each agent uses so many tokens."""

    def use(state: State, events: Iterable[ev.Event]) -> None:
        for event in events:
            if tokens and isinstance(event, ev.LaunchSucceeded):
                key = event.batch, event.job, event.attempt
                api.loop.inbox.tell(ev.UsageCounted(event.at, *key, input=tokens))

    api.loop.watch(use)
    batch = await api.submit(*TESTS)
    await until("it is over", lambda: batch not in api.loop.state.batches)
    return batch


async def test_a_batch_is_replayed_as_it_was_and_as_it_would_be(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="fixed", slots=1) as api:
        batch = await a_batch(api, tokens=1000)
        same = (await ctl(tmp_path, "replay", "--json")).json
        order = [(each["job"], each["attempt"]) for each in same["was"]["launches"]]
        assert order == [(number, 1) for number in (1, 2, 3, 4)]
        assert [(each["job"], each["attempt"]) for each in same["would"]["launches"]] == order
        assert same["would"]["outcomes"] == same["was"]["outcomes"] == {"fixed": 4}
        assert (same["would"]["tokens"], same["would"]["most_agents"], same["notes"]) == (4000, 1, [])
        assert abs(same["would"]["seconds"] - same["was"]["seconds"]) < 0.5

        more = (await ctl(tmp_path, "replay", batch[:4], "--slots", "local=4", "--json")).json
        assert more["would"]["most_agents"] == 4
        less = await ctl(tmp_path, "replay", batch, "--budget", "1500")
        assert "it would have 1 agents at most and use " in less.out
        assert "and stop for its budget" in less.out


async def test_slots_are_those_of_the_pool_that_it_used_as_they_were_then(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="fixed", slots=1) as api:
        await ctl(tmp_path, "slots", "local", "2")
        await a_batch(api)
        await ctl(tmp_path, "slots", "local", "4")
        assert (await ctl(tmp_path, "replay", "--json")).json["would"]["most_agents"] == 2
        assert (await ctl(tmp_path, "replay", "--slots", "3", "--json")).json["would"]["most_agents"] == 3


async def test_mistakes(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        (await ctl(tmp_path, "replay", batch)).refused(4, "is not over yet")
        assert (await ctl(tmp_path, "replay", batch, "--slots", "many")).code == 2
        (await ctl(tmp_path, "replay", batch, "--window", "noon")).refused(4, "is not a window")
        (await ctl(tmp_path, "replay", "zzz")).refused(5, "there is no batch zzz")
