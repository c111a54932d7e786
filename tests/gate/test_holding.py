"""A request that is refused for a limit or an overload is held, and its agent sees an answer that takes long."""

import time
from pathlib import Path

import anyio
import httpx
import pytest

from supervisor.gate.counts import Held
from supervisor.gate.keys import Attempt
from supervisor.tasks import beside
from tests.gate.gates import ASKS, ATTEMPT, BOTH, PURSE, Open, events_of, gate
from tests.gate.provider import STREAM, Reply, message, refusal
from tests.waiting import until

OTHER: Attempt = ("batch", 2, 1)


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_it_is_sent_again_after_the_time_that_the_provider_says(tmp_path: Path, status: int) -> None:
    async with gate(tmp_path, refusal(status, retry_after="1")) as here:
        answer = await here.ask()

        first, second = here.provider.asked
        assert (answer.status_code, events_of(answer.text)) == (200, list(message()))
        assert second.at - first.at >= 1
        assert (here.taken().total, here.unknown()) == (110, 0), "what was refused cost nothing"
        assert (here.counts.held(), here.counts.shut_doors()) == ([], [])


async def test_without_a_time_it_is_tried_again_at_growing_intervals(tmp_path: Path) -> None:
    async with gate(tmp_path, refusal(529), refusal(529)) as here:
        assert (await here.ask()).status_code == 200

        one, two, three = (asked.at for asked in here.provider.asked)
        assert two - one > 0.7
        assert three - two > 1.4


async def test_a_window_is_waited_for_until_the_time_of_day_in_its_time_zone(tmp_path: Path) -> None:
    """That is further than it may be held: the provider's own words are passed on, and nobody asks again."""
    words = "You've hit your session limit · resets 8pm (America/New_York)"
    async with gate(tmp_path, refusal(429, words)) as here:
        first, second = await here.ask(), await here.ask()

        assert [first.status_code, second.status_code] == [429, 429]
        assert [answer.json()["error"]["message"] for answer in (first, second)] == [words, words]
        assert len(here.provider.asked) == 1
        shut = here.counts.shut_doors()[0]
        assert (shut.account, shut.model, shut.why, shut.said) == ("work", "m", "window", words)
        assert time.time() < shut.until < time.time() + 25 * 3600
        assert int(second.headers["retry-after"]) > 20


async def test_a_window_that_ends_soon_is_held_through(tmp_path: Path) -> None:
    told = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(int(time.time()) + 2),
    }
    async with gate(tmp_path, Reply(429, told, {"error": {"message": "used up"}})) as here:
        assert (await here.ask()).status_code == 200
        assert len(here.provider.asked) == 2


async def test_others_of_the_account_wait_too_and_one_goes_first(tmp_path: Path) -> None:
    async with gate(tmp_path, refusal(429, retry_after="1")) as here:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(here.ask)
            await until("it is held", here.counts.held)
            for _ in range(4):
                tasks.start_soon(here.ask)
            await until("all are held", lambda: len(here.counts.held()) == 5)
            assert {type(held) for held in here.counts.held()} == {Held}
        times = [asked.at for asked in here.provider.asked]
        assert len(times) == 6, "nobody was refused a second time"
        assert min(times[1:]) - times[0] >= 1


async def test_another_model_of_the_account_is_not_held(tmp_path: Path) -> None:
    async with gate(tmp_path, refusal(429, retry_after="900"), hold=1) as here:
        assert [(await here.ask()).status_code, (await here.ask(model="other")).status_code] == [429, 200]


async def test_a_stream_on_hold_shows_signs_of_life(tmp_path: Path) -> None:
    async with gate(tmp_path, refusal(529, retry_after="2"), quiet=0.5) as here:
        events = events_of((await here.ask()).text)

        pings = [event for event in events if event["type"] == "ping"]
        assert len(pings) >= 2
        assert events[len(pings) :] == list(message())


async def test_once_it_has_shown_signs_of_life_a_refusal_is_told_in_the_stream(tmp_path: Path) -> None:
    """So is a lost login that comes out only then."""
    async with gate(tmp_path, refusal(529, retry_after="1"), refusal(401, "bad key"), quiet=0.3) as here:
        answer = await here.ask()

        assert (answer.status_code, events_of(answer.text)[-1]) == (
            200,
            {"type": "error", "error": {"type": "authentication_error", "message": "bad key"}},
        )


async def test_signs_of_life_of_other_apis_are_what_their_agents_overlook(tmp_path: Path) -> None:
    async with gate(tmp_path, refusal(529, retry_after="1"), quiet=0.3) as here:
        assert '{"type": "keepalive"}' in (await here.ask("/v1/responses")).text
    async with gate(tmp_path / "chat", refusal(529, retry_after="1"), quiet=0.3) as here:
        assert ": held\n\n" in (await here.ask("/v1/chat/completions")).text


async def test_a_provider_that_cannot_be_reached_was_asked_nothing(tmp_path: Path) -> None:
    async with gate(tmp_path, hold=1.5) as here:
        here.server.config.loaded_app._accounts.update(_nobody(here))
        answer = await here.ask()

        assert (answer.status_code, "can't be reached" in answer.text) == (503, True)
        assert (here.taken().total, here.unknown()) == (0, 0)


async def test_who_hangs_up_on_hold_is_asked_for_no_more(tmp_path: Path) -> None:
    async with gate(tmp_path, refusal(529, retry_after="1")) as here:
        with pytest.raises(httpx.ReadTimeout):
            await here.client.post("/v1/messages", json=ASKS, headers={"x-api-key": here.key}, timeout=0.5)
        await until("it is held no more", lambda: not here.counts.held() and not here.counts.reserved())
        assert (len(here.provider.asked), here.unknown()) == (1, 0)


async def test_a_limit_outlives_the_gate(tmp_path: Path) -> None:
    async with gate(tmp_path, refusal(429, retry_after="900"), hold=1) as here:
        assert (await here.ask()).status_code == 429
    async with gate(tmp_path, STREAM, hold=1) as again:
        assert ((await again.ask()).status_code, again.provider.asked) == (429, [])


async def test_credit_that_is_used_up_is_nothing_to_wait_for(tmp_path: Path) -> None:
    quota = Reply(429, {"retry-after": "1"}, {"error": {"code": "insufficient_quota", "message": "check your plan"}})
    async with gate(tmp_path, quota) as here:
        assert ((await here.ask("/v1/responses")).status_code, len(here.provider.asked)) == (429, 1)


async def test_who_is_held_is_known_by_its_attempt(tmp_path: Path) -> None:
    async with gate(tmp_path, refusal(429, retry_after="1")) as here:
        key = here.keys.issue(OTHER, BOTH, [PURSE])
        async with beside() as tasks:
            tasks.start_soon(lambda: here.ask(key=key))
            await until("it is held", here.counts.held)
            held = here.counts.held()[0]
            assert (held.attempt, held.why, ATTEMPT != OTHER) == (OTHER, "rate", True)


def _nobody(here: Open) -> dict[tuple[str, str], object]:
    from dataclasses import replace

    gates = here.server.config.loaded_app
    return {name: replace(account, url="http://127.0.0.1:9") for name, account in gates._accounts.items()}
