"""The provider of an account: its URL, its key, and the headers that are passed to it and back."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from supervisor.errors import Misconfigured
from supervisor.gate.anthropic import Anthropic
from supervisor.gate.api import Api
from supervisor.gate.openai import OpenAI

APIS: Mapping[str, Api] = {"anthropic": Anthropic(), "openai": OpenAI()}

#: request headers not passed on: those of the connection, those that identify the agent, those the account sets
_DROPPED = frozenset(
    {
        *("host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect"),
        *("content-length", "content-encoding", "accept-encoding", "cookie", "forwarded", "via", "x-real-ip"),
        *("authorization", "x-api-key", "api-key", "x-goog-api-key", "openai-organization", "openai-project"),
    }
)
_DROPPED_STARTS = ("x-forwarded-", "proxy-", "cf-", "sec-")
#: response headers that are passed on
_KEPT = frozenset(
    {
        "content-type",
        "content-encoding",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "x-request-id",
        "x-should-retry",
    }
)
_KEPT_STARTS = ("anthropic-", "openai-", "x-ratelimit-", "x-codex-")
_KEY = re.compile(r"[!-~]{8,4096}")


@dataclass(frozen=True, slots=True)
class Account:
    """The owner of limits and budgets, with its key."""

    name: str
    api: str
    #: without the API's version, such as https://api.anthropic.com
    url: str
    #: where its key is: `credential:NAME`, `file:/path` or `env:NAME`
    key: str

    def secret(self) -> str:
        """The key, read again on each call, so that it can be replaced while the gate runs. Raises Misconfigured."""
        where, _, name = self.key.partition(":")
        found = os.environ.get(name, "") if where == "env" else self._from_file(where, name)
        key = found.strip()
        if not _KEY.fullmatch(key):
            what = "is empty" if not key else "holds no key"
            raise Misconfigured(f"the key of account {self.name} can't be used: {self.key} {what}")
        return key

    def _from_file(self, where: str, name: str) -> str:
        folder = os.environ.get("CREDENTIALS_DIRECTORY")
        if where == "credential" and folder is None:
            hint = "give the gate's unit the credential, or name it as file:/PATH or env:NAME"
            raise Misconfigured(f"account {self.name} needs {self.key}, but there are no credentials", hint=hint)
        path = Path(folder or "", name) if where == "credential" else Path(name)
        try:
            return path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise Misconfigured(f"the key of account {self.name} can't be read from {self.key}: {why}") from None


def sent_headers(headers: Iterable[tuple[bytes, bytes]], api: Api, secret: str) -> list[tuple[str, str]]:
    """The headers to send. They ask for an uncompressed response, so that its usage can be read as it passes."""
    kept = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    named = {
        word.strip().lower() for name, value in kept if name.lower() == "connection" for word in value.split(",")
    }
    passed = [(name, value) for name, value in kept if _passes(name.lower(), named)]
    return [*passed, ("accept-encoding", "identity"), api.key_header(secret)]


def _passes(name: str, named: set[str]) -> bool:
    return name not in _DROPPED and name not in named and not name.startswith(_DROPPED_STARTS)


def told_headers(headers: httpx.Headers) -> Iterator[tuple[bytes, bytes]]:
    for name, value in headers.raw:
        lower = name.lower()
        if lower.decode("latin-1") in _KEPT or lower.decode("latin-1").startswith(_KEPT_STARTS):
            yield lower, value


def without(secret: str, body: bytes) -> bytes:
    """The body with the key masked: a provider may repeat a refused key, or its beginning or end."""
    for part in (secret, secret[:16], secret[-12:]):
        body = body.replace(part.encode(), b"...")
    return body
