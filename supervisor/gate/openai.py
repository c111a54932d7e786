"""OpenAI's Responses and Chat Completions APIs, which other providers use as well."""

import re

import msgspec

from supervisor.gate.api import (
    ADDED_TOKENS,
    LARGEST_CONTEXT,
    LONGEST_ANSWER,
    Asked,
    Fields,
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
from supervisor.gate.refusals import OPENAI
from supervisor.gate.tokens import Tokens

RESPONSES, CHAT, COMPACT = "/v1/responses", "/v1/chat/completions", "/v1/responses/compact"
ENDS = ("response.completed", "response.incomplete", "response.failed")
#: input from elsewhere: files, pages and earlier responses that the request names, and tools that the provider runs
ELSEWHERE = re.compile(
    rb'"(?:previous_response_id|conversation|file_id|file_url|prompt)"\s*:\s*["{]'
    rb'|"(?:image_url|url)"\s*:\s*"https?:'
    rb'|"type"\s*:\s*"(?:web_search|file_search|code_interpreter|mcp|image_generation|computer)[a-z_0-9]*"'
)


def usage_of(usage: Json) -> Tokens:
    """This API counts cache reads as part of the input, and does not report cache writes."""
    read = told(usage.get("input_tokens", usage.get("prompt_tokens")))
    details = dict_of(usage.get("input_tokens_details", usage.get("prompt_tokens_details")))
    cached = min(read, told(details.get("cached_tokens")))
    output = told(usage.get("output_tokens", usage.get("completion_tokens")))
    return Tokens(input=read - cached, cache_read=cached, output=output)


class ResponseStream(StreamMeter):
    def event(self, event: Json) -> None:
        usage = dict_of(event.get("response")).get("usage")
        if event.get("type") in ENDS and isinstance(usage, dict):
            self.tokens, self.has_read, self.is_complete = usage_of(usage), True, True


class ChatStream(StreamMeter):
    def event(self, event: Json) -> None:
        if isinstance(usage := event.get("usage"), dict):
            self.tokens, self.has_read, self.is_complete = usage_of(usage), True, True


class Whole(WholeMeter):
    def read(self, usage: Json) -> Tokens:
        return usage_of(usage)


class OpenAI:
    name: Name = "openai"
    costs = frozenset({RESPONSES, CHAT, COMPACT})
    free = frozenset[str]()
    asks = frozenset({"/v1/models"})

    def key_header(self, key: str) -> tuple[str, str]:
        return "authorization", f"Bearer {key}"

    def asked(self, path: str, body: bytes) -> Asked:
        fields = fields_of(body)
        streams = value_of(fields, "stream") is True
        if path == CHAT and streams:
            _tell_usage(fields)
        sent = encoded(fields)
        reads = len(sent) + ADDED_TOKENS
        if ELSEWHERE.search(sent):
            reads = max(reads, LARGEST_CONTEXT)
        return Asked(sent, model_of(fields), reads, _writes(path, fields), streams)

    def meter(self, path: str, content_type: str) -> Meter:
        if not content_type.startswith("text/event-stream"):
            return Whole()
        return ChatStream() if path == CHAT else ResponseStream()

    def error(self, status: int, message: str) -> bytes:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        error = {"message": message, "type": kind, "param": None, "code": OPENAI.get(status)}
        return msgspec.json.encode({"error": error})

    def alive(self, path: str) -> bytes:
        return b": held\n\n" if path == CHAT else b'event: keepalive\ndata: {"type": "keepalive"}\n\n'

    def failure(self, path: str, status: int, message: str) -> bytes:
        if path == CHAT:
            return b"data: " + self.error(status, message) + b"\n\n"
        error = {"code": OPENAI.get(status, "server_error"), "message": message}
        event = {"type": "response.failed", "response": {"id": "", "status": "failed", "error": error}}
        return b"event: response.failed\ndata: " + msgspec.json.encode(event) + b"\n\n"


def _tell_usage(fields: Fields) -> None:
    """Ask for usage: a stream of this API reports it only on request."""
    options = dict_of(value_of(fields, "stream_options")) | {"include_usage": True}
    fields["stream_options"] = msgspec.Raw(msgspec.json.encode(options))


def _writes(path: str, fields: Fields) -> int:
    if path != CHAT:
        return count_of(fields, "max_output_tokens", LONGEST_ANSWER)
    longest = count_of(fields, "max_completion_tokens", count_of(fields, "max_tokens", LONGEST_ANSWER))
    return longest * max(1, count_of(fields, "n", 1))
