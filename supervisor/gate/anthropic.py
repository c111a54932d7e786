"""Anthropic's Messages API."""

import re

import msgspec

from supervisor.gate.api import (
    ADDED_TOKENS,
    LARGEST_CONTEXT,
    Asked,
    Json,
    Meter,
    Name,
    StreamMeter,
    WholeMeter,
    count_of,
    dict_of,
    encoded,
    fields_of,
    model_of,
    told,
    value_of,
)
from supervisor.gate.refusals import ANTHROPIC, Refused
from supervisor.gate.tokens import Tokens

MESSAGES, COUNT = "/v1/messages", "/v1/messages/count_tokens"
#: input from elsewhere: files and pages that the request names, and tools that the provider runs itself
ELSEWHERE = re.compile(
    rb'"type"\s*:\s*"(?:url|file|container_upload|(?:web_search|web_fetch|code_execution|tool_search|advisor)[a-z_]*\d+)"'
    rb'|"mcp_servers"\s*:'
)


def usage_of(usage: Json) -> Tokens:
    return Tokens(
        told(usage.get("input_tokens")),
        told(usage.get("cache_creation_input_tokens")),
        told(usage.get("cache_read_input_tokens")),
        told(usage.get("output_tokens")),
    )


class Stream(StreamMeter):
    """Input usage comes at the start, output usage at the end; each later number is the total so far."""

    def __init__(self) -> None:
        super().__init__()
        self._usage: Json = {}

    def event(self, event: Json) -> None:
        match event.get("type"):
            case "message_start":
                self._take(dict_of(event.get("message")).get("usage"))
                self.has_read = True
            case "message_delta":
                self._take(event.get("usage"))
                self.is_complete = bool(dict_of(event.get("delta")).get("stop_reason"))

    def _take(self, usage: object) -> None:
        self._usage |= {name: value for name, value in dict_of(usage).items() if isinstance(value, int)}
        self.tokens = usage_of(self._usage)


class Whole(WholeMeter):
    def read(self, usage: Json) -> Tokens:
        return usage_of(usage)


class Anthropic:
    name: Name = "anthropic"
    costs = frozenset({MESSAGES})
    free = frozenset({COUNT})
    asks = frozenset({"/v1/models"})

    def key_header(self, key: str) -> tuple[str, str]:
        return "x-api-key", key

    def asked(self, path: str, body: bytes) -> Asked:
        fields = fields_of(body)
        if "max_tokens" not in fields:
            raise Refused(400, "`max_tokens` is missing: without it nobody knows what the request can cost")
        sent = encoded(fields)
        reads = len(sent) + ADDED_TOKENS
        if ELSEWHERE.search(sent):
            reads = max(reads, LARGEST_CONTEXT)
        writes = count_of(fields, "max_tokens", 0)
        return Asked(sent, model_of(fields), reads, writes, value_of(fields, "stream") is True)

    def meter(self, path: str, content_type: str) -> Meter:
        return Stream() if content_type.startswith("text/event-stream") else Whole()

    def error(self, status: int, message: str) -> bytes:
        kind = ANTHROPIC.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": message}})

    def alive(self, path: str) -> bytes:
        return b'event: ping\ndata: {"type": "ping"}\n\n'

    def failure(self, path: str, status: int, message: str) -> bytes:
        return b"event: error\ndata: " + self.error(status, message) + b"\n\n"
