"""The office of a scripted model, with a gate between its agents and the model."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from supervisor.gate.accounts import Account
from supervisor.gate.counts import Counts
from supervisor.gate.server import Terms, opened
from supervisor.gate.sharing import folder_of
from tests.gate.box import free_port
from tests.gate.gates import REAL_KEY
from tests.scripted.office import CLAUDE_PROGRAM, Office, Part, Program, office
from tests.scripted.plays import Model

APIS = ("anthropic", "openai")
HOLD_SECONDS = 180.0


@asynccontextmanager
async def behind(
    folder: Path, parts: Sequence[Part], slots: int = 3, program: Program = CLAUDE_PROGRAM, **profile: Any
) -> AsyncIterator[tuple[Office, Model]]:
    async with office(folder, parts, slots, program, **profile) as (made, model):
        (folder / "real-key").write_text(REAL_KEY)
        key, port = f"file:{folder / 'real-key'}", free_port()
        upstreams = [{"api": api, "url": model.url, "key": key} for api in APIS]
        made.settings["gate"] = {"on": True, "listen": f"127.0.0.1:{port}", "upstreams": upstreams}
        accounts = tuple(Account(api, api, model.url, key) for api in APIS)
        async with opened(Terms(made.configuration.state_dir, "127.0.0.1", port, accounts, HOLD_SECONDS)):
            yield made, model


def counts_of(made: Office) -> Counts:
    return Counts(folder_of(made.configuration.state_dir))
