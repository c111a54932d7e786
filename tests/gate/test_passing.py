"""What goes through the gate, and what is counted of it."""

import json
import threading
from functools import partial
from pathlib import Path

import anyio
import pytest

from supervisor.gate.tokens import Tokens
from tests.gate.gates import ASKS, REAL_KEY, Open, events_of, gate
from tests.gate.provider import STREAM, USAGE, Reply, message, refusal
from tests.waiting import until

TOLD = Tokens(input=11, cache_write=22, cache_read=33, output=44)


async def test_a_stream_comes_as_it_was_sent_and_is_counted_by_kind(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        answer = await here.ask()

        assert (answer.status_code, events_of(answer.text)) == (200, list(message()))
        assert here.taken() == TOLD
        assert (here.unknown(), here.counts.spent()) == (0, {"batch batch": TOLD.total})


async def test_an_answer_that_is_no_stream_is_counted(tmp_path: Path) -> None:
    async with gate(tmp_path, Reply(body={"content": [], "usage": USAGE})) as here:
        answer = await here.ask(stream=False)

        assert answer.json() == {"content": [], "usage": USAGE}
        assert here.taken() == TOLD


RESPONSE = {"input_tokens": 44, "input_tokens_details": {"cached_tokens": 33}, "output_tokens": 5}
CHAT = {"prompt_tokens": 44, "prompt_tokens_details": {"cached_tokens": 33}, "completion_tokens": 5}


@pytest.mark.parametrize(
    ("path", "reply"),
    [
        (
            "/v1/responses",
            Reply(events=({"type": "response.completed", "response": {"id": "r", "usage": RESPONSE}},)),
        ),
        ("/v1/responses", Reply(body={"usage": RESPONSE})),
        ("/v1/chat/completions", Reply(events=({"choices": []}, {"choices": [], "usage": CHAT}))),
        ("/v1/chat/completions", Reply(body={"usage": CHAT})),
    ],
)
async def test_the_apis_of_openai_are_counted(tmp_path: Path, path: str, reply: Reply) -> None:
    """What was read from a cache is part of the input there."""
    async with gate(tmp_path, reply) as here:
        answer = await here.client.post(
            path, json=ASKS | {"stream": bool(reply.events)}, headers={"authorization": f"Bearer {here.key}"}
        )

        assert answer.status_code == 200
        assert here.taken() == Tokens(input=11, cache_read=33, output=5)
        assert here.provider.asked[0].headers["authorization"] == f"Bearer {REAL_KEY}"


async def test_a_stream_of_chat_is_asked_to_say_what_it_took(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        await here.ask("/v1/chat/completions", stream_options={"include_usage": False})

        assert json.loads(here.provider.asked[0].body)["stream_options"] == {"include_usage": True}


async def test_the_provider_gets_the_accounts_key_and_nothing_that_names_the_agent(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        headers = {
            "x-api-key": here.key,
            "authorization": f"Bearer {here.key}",
            "anthropic-beta": "one,two",
            "anthropic-version": "2023-06-01",
            "cookie": "a=b",
            "x-forwarded-for": "10.0.0.1",
            "openai-organization": "theirs",
            "connection": "x-mine",
            "x-mine": "1",
        }
        await here.client.post("/v1/messages?beta=true", json=ASKS, headers=headers)

        asked = here.provider.asked[0]
        assert (asked.path, json.loads(asked.body)) == ("/v1/messages?beta=true", ASKS)
        kept = {name: asked.headers.get(name) for name in (*headers, "host", "accept-encoding")}
        assert kept == dict.fromkeys(headers) | {
            "x-api-key": REAL_KEY,
            "anthropic-beta": "one,two",
            "anthropic-version": "2023-06-01",
            "connection": asked.headers.get("connection"),
            "host": here.provider.url.removeprefix("http://"),
            "accept-encoding": "identity",
        }
        assert here.key not in str(asked)


async def test_of_a_field_that_is_there_twice_the_one_is_sent_that_was_judged(tmp_path: Path) -> None:
    async with gate(tmp_path, cap=10_000) as here:
        body = json.dumps(ASKS)[:-1] + ', "max_tokens": 999999, "max\\u005ftokens": 100}'
        headers = {"x-api-key": here.key, "content-type": "application/json"}
        answer = await here.client.post("/v1/messages", content=body, headers=headers)

        assert answer.status_code == 200
        assert here.provider.asked[0].body.count(b"max_tokens") == 1
        assert json.loads(here.provider.asked[0].body) == ASKS


async def test_requests_that_cost_nothing_reserve_nothing(tmp_path: Path) -> None:
    async with gate(tmp_path, Reply(body={"input_tokens": 7}), cap=1) as here:
        counted = await here.ask("/v1/messages/count_tokens")
        models = await here.client.get("/v1/models", headers={"x-api-key": here.key})

        assert (counted.json(), models.json()) == ({"input_tokens": 7}, {"data": []})
        assert here.counts.taken() == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
async def test_a_refusal_that_waiting_does_not_resolve_is_passed_on_and_costs_nothing(
    tmp_path: Path, status: int
) -> None:
    told = refusal(status, f"the key {REAL_KEY} that begins with {REAL_KEY[:16]} is bad", request_id="req_1")
    async with gate(tmp_path, told) as here:
        answer = await here.ask()

        assert answer.status_code == status
        assert answer.json()["error"]["message"] == "the key ... that begins with ... is bad"
        assert (answer.headers["request-id"], len(here.provider.asked)) == ("req_1", 1)
        assert (here.taken().total, here.unknown()) == (0, 0)


async def test_a_redirection_is_not_followed(tmp_path: Path) -> None:
    async with gate(tmp_path, Reply(307, {"location": "http://127.0.0.1:1/v1/messages"})) as here:
        answer = await here.ask()
        assert (answer.status_code, "not followed" in answer.text) == (502, True)


async def test_of_an_answer_that_breaks_off_the_rest_is_unknown_and_the_agent_hears_of_it(tmp_path: Path) -> None:
    async with gate(tmp_path, Reply(events=message()[:3], is_cut=True)) as here:
        answer = await here.ask()

        assert events_of(answer.text)[-1]["type"] == "error"
        assert here.taken() == Tokens(11, 22, 33, 1)
        assert here.unknown() == 99, "as long as it might have been"


async def test_who_hangs_up_is_still_counted(tmp_path: Path) -> None:
    """The provider had begun: what it took is read, though nobody waits for it."""
    async with gate(tmp_path, STREAM) as here:
        async with here.client.stream("POST", "/v1/messages", json=ASKS, headers={"x-api-key": here.key}) as answer:
            assert answer.status_code == 200
        await until("it is counted", lambda: here.taken() == TOLD)
        assert here.unknown() == 0


def is_asked(here: Open, times: int) -> bool:
    return len(here.provider.asked) == times


async def test_connections_to_the_provider_are_used_again_however_many_agents_ask_at_once(tmp_path: Path) -> None:
    """A new one takes longer than all that the gate does."""
    agents = 70
    go = threading.Event()
    async with (
        gate(tmp_path, *[Reply(events=message(), waits=(1, go))] * agents) as here,
        anyio.create_task_group() as tasks,
    ):
        for number in range(agents):
            tasks.start_soon(here.ask)
            await until("one more is under way", partial(is_asked, here, number + 1))
        for _ in range(5):
            await here.ask()
        go.set()
        assert len({asked.port for asked in here.provider.asked}) == agents + 1
