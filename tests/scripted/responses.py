"""The part of the Responses API that codex speaks."""

import json
from collections.abc import Iterator, Mapping

from tests.scripted.plays import Exchange, Json, Turn

ERRORS = {
    401: {"type": "invalid_request_error", "code": "invalid_api_key", "message": "Incorrect API key provided."},
    429: {"type": "rate_limit_exceeded", "code": "rate_limit_exceeded", "message": "Rate limit reached."},
}
#: It waits until the command is over, however long that takes.
PROGRAM = """\
// @exec: {"yield_time_ms": 300000}
let ran = await tools.exec_command(%s), all = ran.output;
while (ran.exit_code == null && ran.session_id != null) {
  ran = await tools.write_stdin({session_id: ran.session_id, chars: "", yield_time_ms: 30000});
  all += ran.output;
}
text(all)
"""
#: what a request for the title of a session is counted as
TITLE = "title"


class Responses(Exchange):
    def asked(self, body: Json) -> None:
        if body.get("text", {}).get("format"):
            return self.stream(_told(Turn('{"title": "A test"}'), *self.known.answer(TITLE)))
        items = body.get("input", [])
        turns = sum(item.get("type") == "message" and item.get("role") == "assistant" for item in items)
        test, number, turn = self.known.turn(items, turns)
        if status := self.known.refusal(test, number, turn):
            return self.send({"error": ERRORS[status]}, status)
        return self.stream(_told(turn, *self.known.answer(test)))


def _told(turn: Turn, number: int, usage: Mapping[str, int]) -> Iterator[Json]:
    id_ = f"resp_{number:04}"
    yield {"type": "response.created", "response": {"id": id_}}
    said: Json = {"type": "message", "role": "assistant", "id": f"msg_{number:04}", "content": []}
    yield {"type": "response.output_item.added", "output_index": 0, "item": said}
    whole = said | {"content": [{"type": "output_text", "text": turn.say}]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": whole}
    if turn.run:
        yield {"type": "response.output_item.done", "output_index": 1, "item": _call(turn.run, number)}
    yield {"type": "response.completed", "response": {"id": id_, "usage": _usage(usage)}}


def _call(command: str, number: int) -> Json:
    """codex gives its model one tool, which runs a program that calls the others."""
    program = PROGRAM % json.dumps({"cmd": command, "yield_time_ms": 30_000})
    return {
        "type": "custom_tool_call",
        "id": f"ct_{number:04}",
        "call_id": f"call_{number:04}",
        "name": "exec",
        "input": program,
    }


def _usage(usage: Mapping[str, int]) -> Json:
    """The same numbers, as this API tells them: all that was read is input, and so is what was written to a cache."""
    cached, output = usage["cache_read_input_tokens"], usage["output_tokens"]
    read = usage["input_tokens"] + usage["cache_creation_input_tokens"] + cached
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": output // 2},
        "total_tokens": read + output,
    }
