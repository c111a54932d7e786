"""Encodes events as JSON and decodes them. Unknown fields are ignored, missing ones get their defaults."""

from collections.abc import Mapping
from typing import Any

import msgspec

from supervisor.model.event import KINDS, Event

_ENCODER = msgspec.json.Encoder()
_DECODERS: Mapping[str, msgspec.json.Decoder[Any]] = {kind: msgspec.json.Decoder(cls) for kind, cls in KINDS.items()}


class UnknownKind(Exception):
    """An event that this version has no class for."""


class Undecodable(Exception):
    """A text that is not an event of its kind."""


def encode(event: Event) -> str:
    """Raises if the result can't be decoded again, such as for an infinite time, which JSON lacks."""
    try:
        body = _ENCODER.encode(event)
    except UnicodeEncodeError:
        body = _ENCODER.encode(_printable(msgspec.to_builtins(event)))
    decode(event.kind, body)
    return body.decode()


def decode(kind: str, body: str | bytes) -> Event:
    if (decoder := _DECODERS.get(kind)) is None:
        raise UnknownKind(f"it holds an event of the kind {kind!r}, which this version does not know")
    try:
        event: Event = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Undecodable(str(error)) from error
    return event


def _printable(value: Any) -> Any:
    """Replace lone surrogates, which text from agents and file systems may hold and UTF-8 can't encode."""
    match value:
        case str():
            return value.encode(errors="backslashreplace").decode()
        case dict():
            return {_printable(key): _printable(item) for key, item in value.items()}
        case list() | tuple():
            return [_printable(item) for item in value]
        case _:
            return value
