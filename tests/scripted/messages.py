"""The part of the Messages API that claude and opencode speak."""

import json
from collections.abc import Iterator, Mapping

from tests.scripted.plays import Exchange, Json, Turn

ERRORS = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


class Messages(Exchange):
    def asked(self, body: Json) -> None:
        if "count_tokens" in self.path:
            return self.send({"input_tokens": 1})
        messages = body.get("messages", [])
        turns = sum(message.get("role") == "assistant" for message in messages)
        test, number, turn = self.known.turn(messages, turns)
        if status := self.known.refusal(test, number, turn):
            error = {"type": ERRORS[status], "message": turn.words}
            return self.send({"type": "error", "error": error}, status)
        return self.stream(_told(body, turn, *self.known.answer(test)))


def _shell(body: Json) -> str:
    """Its name differs by who asks."""
    names = [str(tool.get("name")) for tool in body.get("tools", [])]
    return next((name for name in names if name.lower() == "bash"), "Bash")


def _told(body: Json, turn: Turn, number: int, usage: Mapping[str, int]) -> Iterator[Json]:
    """As the real one: what was said so far is counted at the start, all of it at the end."""
    head: Json = {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
    }
    head |= {"stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": head}
    yield from _block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": turn.say})
    if turn.run:
        tool = {"type": "tool_use", "id": f"toolu_{number:04}", "name": _shell(body), "input": {}}
        given = json.dumps({"command": turn.run, "description": turn.say})
        yield from _block(1, tool, {"type": "input_json_delta", "partial_json": given})
    ended = {"stop_reason": "tool_use" if turn.run else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": usage["output_tokens"]}}
    yield {"type": "message_stop"}


def _block(index: int, block: Json, delta: Json) -> Iterator[Json]:
    yield {"type": "content_block_start", "index": index, "content_block": block}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
