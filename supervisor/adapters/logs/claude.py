"""What claude's own transcript says of messages that mngr's converter has not come to yet.

The converter holds a message back until the next one, or the end of the turn; an agent that is stopped in the middle
of a turn would leave its last ones uncounted. They have the same ids here, so none counts twice.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from supervisor.adapters.logs.entries import Counted, dict_of, list_of, text_of
from supervisor.model.usage import Usage

RAW = "logs/claude_transcript/events.jsonl"


def counted(lines: Iterable[bytes]) -> Iterator[Counted]:
    """One response is several lines, one for each block; they repeat its usage."""
    found: dict[str, Counted] = {}
    for line in lines:
        try:
            message = dict_of(dict_of(msgspec.json.decode(line)).get("message"))
        except (msgspec.DecodeError, RecursionError):
            continue
        if message.get("role") == "assistant" and (id_ := text_of(message.get("id"))):
            calls = sum(1 for block in list_of(message.get("content")) if dict_of(block).get("type") == "tool_use")
            known = found.get(id_) or Counted(id_, _tokens(message))
            found[id_] = Counted(id_, known.usage + Usage(tool_calls=calls))
    yield from found.values()


def _tokens(message: dict[str, Any]) -> Usage:
    usage, model = dict_of(message.get("usage")), text_of(message.get("model"))

    def tokens(key: str) -> int:
        value = usage.get(key)
        return value if isinstance(value, int) and value >= 0 else 0

    return Usage(
        input=tokens("input_tokens") + tokens("cache_creation_input_tokens"),
        output=tokens("output_tokens"),
        cached=tokens("cache_read_input_tokens"),
        model="" if model == "<synthetic>" else model[:200],
    )
