"""What the gate knows of a provider's API: which requests cost tokens, how many at most, how many they took.

Pure. A body is judged and forwarded in the same form: its top-level fields are decoded and encoded again, so that the
provider can't interpret it differently, such as by a duplicate field.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec

from supervisor.gate.refusals import Refused
from supervisor.gate.tokens import NONE, Tokens

#: how many tokens a provider may add to a request, such as its instructions for the use of tools
ADDED_TOKENS = 4_096
#: the maximum input of a request that refers to content instead of containing it: the largest context that is sold
LARGEST_CONTEXT = 1_000_000
#: the maximum output if the request sets no limit: the longest answer that is sold
LONGEST_ANSWER = 128_000
#: a larger number can't be a number of tokens
MOST_TOKENS = 10**9
LONGEST_NAME = 100

type Json = dict[str, Any]
type Fields = dict[str, msgspec.Raw]
type Name = Literal["anthropic", "openai"]

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that costs tokens."""

    body: bytes
    model: str
    #: the maximum of its input tokens, and of its output tokens
    reads: int
    writes: int
    streams: bool

    @property
    def most(self) -> int:
        return self.reads + self.writes


class Meter(Protocol):
    """Reads the usage from a response as it passes."""

    #: what the provider has reported so far
    tokens: Tokens
    #: the input usage is known; the whole usage is known
    has_read: bool
    is_complete: bool

    def feed(self, chunk: bytes) -> None: ...
    def end(self) -> None: ...


class Api(Protocol):
    name: Name

    #: the name and the value of the header that has the key
    def key_header(self, key: str) -> tuple[str, str]: ...

    #: paths of requests that cost tokens, of those that do not, and of those that only ask
    costs: frozenset[str]
    free: frozenset[str]
    asks: frozenset[str]

    def asked(self, path: str, body: bytes) -> Asked: ...
    def meter(self, path: str, content_type: str) -> Meter: ...
    def error(self, status: int, message: str) -> bytes: ...
    def alive(self, path: str) -> bytes: ...
    def failure(self, path: str, status: int, message: str) -> bytes: ...


def fields_of(body: bytes) -> Fields:
    try:
        return _fields.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Refused(400, "the body of the request is not a JSON object") from None


def encoded(fields: Fields) -> bytes:
    return msgspec.json.encode(fields)


def value_of(fields: Fields, name: str) -> Any:
    try:
        return msgspec.json.decode(fields[name]) if name in fields else None
    except (msgspec.DecodeError, RecursionError):
        raise Refused(400, f"`{name}` is not JSON") from None


def count_of(fields: Fields, name: str, default: int) -> int:
    """A number in the request that bounds its cost; anything but a number is refused."""
    value = value_of(fields, name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_TOKENS:
        raise Refused(400, f"`{name}` is not a number of tokens")
    return value


def model_of(fields: Fields) -> str:
    model = value_of(fields, "model")
    if not isinstance(model, str) or not 0 < len(model) <= LONGEST_NAME or not model.isprintable():
        raise Refused(400, "`model` is missing, or not the name of a model")
    return model


def told(value: object) -> int:
    """A number of tokens in a response; any other value counts as 0."""
    return value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else 0


def dict_of(value: object) -> Json:
    return value if isinstance(value, dict) else {}


#: maximum size of a response that is kept until its end, or of one line of a stream
LONGEST_KEPT = 64 * 2**20


class StreamMeter:
    """Server-sent events: only lines that contain `"usage"` are parsed."""

    def __init__(self) -> None:
        self.tokens, self.has_read, self.is_complete = NONE, False, False
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        data = self._rest + chunk if self._rest else chunk
        end = data.rfind(b"\n") + 1
        self._rest = data[end:] if len(data) - end <= LONGEST_KEPT else b""
        if data.find(b'"usage"', 0, end) >= 0:
            for line in data[:end].split(b"\n"):
                if b'"usage"' in line and line.startswith(b"data:"):
                    self._line(line[5:])

    def end(self) -> None:
        self.feed(b"\n")

    def _line(self, line: bytes) -> None:
        try:
            self.event(dict_of(msgspec.json.decode(line)))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return

    def event(self, event: Json) -> None:
        raise NotImplementedError


class WholeMeter:
    """One JSON object, whose usage is read once it is complete."""

    def __init__(self) -> None:
        self.tokens, self.has_read, self.is_complete = NONE, False, False
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size <= LONGEST_KEPT:
            self._parts.append(chunk)

    def end(self) -> None:
        try:
            found = dict_of(msgspec.json.decode(b"".join(self._parts)))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return
        if isinstance(found.get("usage"), dict):
            self.tokens = self.read(found["usage"])
            self.has_read = self.is_complete = True

    def read(self, usage: Json) -> Tokens:
        raise NotImplementedError
