"""A gate in this process, before a provider on loopback, and an agent's key for it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from supervisor.gate.accounts import Account
from supervisor.gate.counts import Counts
from supervisor.gate.keys import Attempt, Keys
from supervisor.gate.server import GateServer, Terms, opened
from supervisor.gate.sharing import folder_of
from supervisor.gate.tokens import NONE, Tokens
from tests.gate.provider import Reply, Scripted, scripted

REAL_KEY = "sk-real-0123456789abcdefghijklmnop"
ATTEMPT: Attempt = ("batch", 1, 1)
PURSE = "batch batch"
BOTH = {"anthropic": "work", "openai": "work"}


@dataclass
class Open:
    """The gate, and what daemon and agent have of it."""

    provider: Scripted
    server: GateServer
    keys: Keys
    counts: Counts
    client: httpx.AsyncClient
    key: str

    @property
    def port(self) -> int:
        return self.server.port

    def taken(self, attempt: Attempt = ATTEMPT) -> Tokens:
        return sum((row.tokens for row in self.counts.taken(attempt)), NONE)

    def unknown(self, attempt: Attempt = ATTEMPT) -> int:
        return sum(row.unknown for row in self.counts.taken(attempt))

    async def ask(self, path: str = "/v1/messages", *, key: str = "", **fields: Any) -> httpx.Response:
        return await self.client.post(path, json={**ASKS, **fields}, headers={"x-api-key": key or self.key})


ASKS = {"model": "m", "max_tokens": 100, "stream": True, "messages": [{"role": "user", "content": "hello"}]}


def terms(folder: Path, url: str, *, port: int = 0, hold: float = 20.0, quiet: float = 15.0) -> Terms:
    folder.mkdir(exist_ok=True)
    (folder / "key").write_text(REAL_KEY + "\n")
    accounts = tuple(Account("work", api, url, f"file:{folder / 'key'}") for api in ("anthropic", "openai"))
    return Terms(folder / "state", "127.0.0.1", port, accounts, hold, quiet)


@asynccontextmanager
async def gate(
    folder: Path, *replies: Reply, cap: int | None = None, hold: float = 20.0, quiet: float = 15.0
) -> AsyncIterator[Open]:
    with scripted(*replies) as provider:
        told = terms(folder, provider.url, hold=hold, quiet=quiet)
        shared = folder_of(told.state_dir)
        with closing(Keys(shared)) as keys, closing(Counts(shared)) as counts:
            keys.put_caps({PURSE: cap})
            key = keys.issue(ATTEMPT, BOTH, [PURSE])
            async with opened(told) as server, _client(server) as client:
                yield Open(provider, server, keys, counts, client, key)


def _client(server: GateServer) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=30, verify=False)


def events_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]
