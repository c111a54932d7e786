"""Not one request goes beyond the cap."""

import asyncio
import json
import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.gate.admission import Admission, Wait
from supervisor.gate.anthropic import Anthropic
from supervisor.gate.api import ADDED_TOKENS, LARGEST_CONTEXT, LONGEST_ANSWER, Asked
from supervisor.gate.keys import Pass
from supervisor.gate.openai import OpenAI
from supervisor.gate.refusals import Refused
from supervisor.gate.tokens import Tokens
from tests.gate.gates import ASKS, ATTEMPT, BOTH, PURSE, gate
from tests.gate.provider import STREAM, Reply, message
from tests.waiting import until

MOST = len(json.dumps(ASKS, separators=(",", ":"))) + ADDED_TOKENS + 100
TAKES = 110


async def test_a_request_that_might_exceed_the_cap_is_not_sent(tmp_path: Path) -> None:
    async with gate(tmp_path, cap=MOST - 1) as here:
        answer = await here.ask()

        assert (answer.status_code, here.provider.asked) == (402, [])
        assert answer.json()["error"]["message"] == (
            f"the budget of batch batch has no room for this request: 0 of {MOST - 1:,} tokens are spent, "
            f"and it could take {MOST:,} tokens; do not try again"
        )
        away = here.counts.turned_away()[PURSE]
        assert (away.spent, away.cap, away.wanted) == (0, MOST - 1, MOST)


async def test_what_was_taken_is_counted_in_place_of_what_was_reserved(tmp_path: Path) -> None:
    """So there is room for as many requests as fit, and for no other."""
    async with gate(tmp_path, cap=MOST + 3 * TAKES) as here:
        answers = [(await here.ask()).status_code for _ in range(6)]

        assert answers == [200, 200, 200, 200, 402, 402]
        assert here.counts.spent() == {PURSE: 4 * TAKES}


async def test_while_reservations_are_in_the_way_it_waits_for_them(tmp_path: Path) -> None:
    go = threading.Event()
    slow = Reply(events=message(), waits=(1, go))
    async with gate(tmp_path, slow, STREAM, cap=MOST + 2 * TAKES) as here:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(here.ask)
            await until("the first is under way", lambda: here.provider.asked)
            tasks.start_soon(here.ask)
            await until("the second waits", lambda: [held.why for held in here.counts.held()] == ["room"])
            assert len(here.provider.asked) == 1
            go.set()
        assert here.counts.spent() == {PURSE: 2 * TAKES}


async def test_a_cap_that_is_raised_lets_it_through(tmp_path: Path) -> None:
    async with gate(tmp_path, cap=10) as here:
        assert (await here.ask()).status_code == 402
        here.keys.put_caps({PURSE: 100_000})
        assert (await here.ask()).status_code == 200


async def test_the_cap_holds_for_all_attempts_of_a_purse_together(tmp_path: Path) -> None:
    async with gate(tmp_path, cap=MOST + TAKES) as here:
        keys = [here.keys.issue(("batch", job, 1), BOTH, [PURSE, f"of job {job}"]) for job in (2, 3, 4)]
        async with anyio.create_task_group() as tasks:
            for key in keys:
                tasks.start_soon(partial(here.ask, key=key))
        assert len(here.provider.asked) == 2
        assert here.counts.spent()[PURSE] == 2 * TAKES


@pytest.mark.parametrize(
    ("change", "most"),
    [
        ({"messages": [{"role": "user", "content": "é" * 1000}]}, 2000 + ADDED_TOKENS),
        ({"messages": [{"source": {"type": "url", "url": "https://x"}}]}, LARGEST_CONTEXT),
        ({"messages": [{"source": {"type": "file", "file_id": "f"}}]}, LARGEST_CONTEXT),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, LARGEST_CONTEXT),
        ({"mcp_servers": [{"url": "https://x"}]}, LARGEST_CONTEXT),
    ],
)
def test_the_most_that_a_request_can_read(change: dict[str, object], most: int) -> None:
    """A token is a byte at least; what the request only names may be as long as anything."""
    body = json.dumps(ASKS | change, ensure_ascii=False).encode()
    assert most <= Anthropic().asked("/v1/messages", body).reads <= most + 300


@pytest.mark.parametrize(
    ("path", "fields", "most"),
    [
        ("/v1/responses", {}, LONGEST_ANSWER),
        ("/v1/responses", {"max_output_tokens": 7}, 7),
        ("/v1/chat/completions", {}, LONGEST_ANSWER),
        ("/v1/chat/completions", {"max_tokens": 7, "n": 3}, 21),
        ("/v1/chat/completions", {"max_tokens": 7, "max_completion_tokens": 9}, 9),
    ],
)
def test_the_most_that_an_answer_can_take(path: str, fields: dict[str, int], most: int) -> None:
    assert OpenAI().asked(path, json.dumps({"model": "m", **fields}).encode()).writes == most


@pytest.mark.parametrize("value", ["-1", '"9"', "1.5", "true", "[]", "10000000000", "null"])
def test_a_bound_that_is_no_number_is_refused(value: str) -> None:
    body = f'{{"model": "m", "max_tokens": {value}}}'.encode()
    if value == "null":
        assert Anthropic().asked("/v1/messages", body).writes == 0
        return
    with pytest.raises(Refused, match="not a number of tokens"):
        Anthropic().asked("/v1/messages", body)


# --- the promise, whatever the order

OWNER = Pass(ATTEMPT, BOTH, ("a", "b"))
ASKED = st.builds(
    lambda reads, writes: Asked(b"", "m", reads, writes, True), st.integers(0, 400), st.integers(0, 400)
)


class Ledger:
    """What the gate writes down, in memory."""

    def __init__(self) -> None:
        self.away = 0

    def spent(self) -> dict[str, int]:
        return {}

    def reserve(self, *_: object) -> int:
        return 1

    def settle(self, *_: object) -> None: ...

    def turn_away(self, _: object) -> None:
        self.away += 1


@given(st.lists(st.tuples(ASKED, st.integers(0, 100), st.booleans())), st.integers(0, 1000), st.integers(0, 1000))
def test_spent_and_reserved_never_exceed_a_cap(steps: list[tuple[Asked, int, bool]], cap: int, other: int) -> None:
    """Requests come and end in any order, and cost anything up to what they could."""

    async def story() -> None:
        caps = SimpleNamespace(cap={"a": cap, "b": other}.get, allowances=lambda purse, at: [])
        admission = Admission(caps, Ledger())  # type: ignore[arg-type]
        under_way, spent = list[tuple[object, Asked, int]](), 0
        for asked, share, ends in steps:
            try:
                claims = admission.look(OWNER, asked, 0.0)
            except Refused:
                assert spent + asked.most > min(cap, other)
                continue
            if not isinstance(claims, Wait):
                entered = admission.reserved(OWNER, "work", asked, claims)
                room = entered.__enter__()
                took = asked.most * share // 100
                room.is_sent()
                meter = SimpleNamespace(tokens=Tokens(input=took), has_read=True, is_complete=True)
                room.took(meter)
                under_way.append((entered, asked, took))
            assert spent + sum(each.most for _, each, _ in under_way) <= min(cap, other)
            if ends and under_way:
                entered, _, took = under_way.pop(0)  # type: ignore[assignment]
                entered.__exit__(None, None, None)
                spent += took

    asyncio.run(story())
