"""What `doctor` says of the gate, and what the configuration of one may be."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from supervisor.cli import doctor_gate
from supervisor.cli.findings import Finding, Judged
from supervisor.cli.session import Session
from supervisor.errors import Misconfigured
from supervisor.settings import Settings, load
from tests.gate.box import free_port
from tests.gate.gates import gate

UPSTREAM = {"api": "anthropic", "url": "https://api.anthropic.com", "key": "credential:key"}


def found(folder: Path, listen: str, **more: Any) -> list[Finding]:
    table = {"on": True, "listen": listen, "upstreams": [UPSTREAM]}
    settings = Settings.model_validate({"state_dir": folder, "gate": table, **more})
    judged = Judged(settings, "", os.environ["PATH"], os.geteuid())
    return list(doctor_gate.gate(Session(), judged))


async def test_it_says_whether_the_gate_answers_and_has_its_keys(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        listen = f"127.0.0.1:{here.port}"
        [well] = await asyncio.to_thread(found, tmp_path, listen)
        (tmp_path / "key").unlink()
        [keyless] = await asyncio.to_thread(found, tmp_path, listen)
    [none] = await asyncio.to_thread(found, tmp_path, listen)

    assert (well.state, well.message) == ("ok", f"it answers on {listen}")
    assert (keyless.state, keyless.message) == ("problem", "the key of account work can't be used")
    assert (none.state, none.message.partition(" (")[0]) == ("problem", f"no gate answers on {listen}")


def test_it_names_who_does_not_go_through_it(tmp_path: Path) -> None:
    profiles = {"codex": {"agent": "codex"}, "far": {"pools": ["far"]}, "other": {"agent": "somebodys-own"}}
    pools = [{"name": "local"}, {"name": "far", "provider": "modal"}]
    told = {
        each.message: each.state
        for each in found(tmp_path, f"127.0.0.1:{free_port()}", pools=pools, profiles=profiles)
    }
    assert told.pop(next(iter(told))) == "problem"
    assert told == {
        "profile codex: there is no upstream for the agent codex": "problem",
        "profile far: agents of pool far ask their model directly, past the gate and its caps": "warning",
        "profile other: the agent somebodys-own asks its model directly, past the gate and its caps": "warning",
    }


def test_it_says_nothing_of_a_gate_that_is_off(tmp_path: Path) -> None:
    judged = Judged(Settings(state_dir=tmp_path), "", "", 0)
    assert list(doctor_gate.gate(Session(), judged)) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[gate]\non = true", "there are no `\\[\\[gate.upstreams\\]\\]`"),
        ('[gate]\nlisten = "0.0.0.0:8647"', "can be reached from other machines"),
        ('[gate]\nlisten = "localhost:8647"', "does not appear to be an IPv4 or IPv6 address"),
        ('[gate]\nlisten = "127.0.0.1"', "does not appear to be an IPv4 or IPv6 address"),
        ('[gate]\nlisten = "127.0.0.1:0"', "is not an address and a port"),
        ("[gate]\nport = 1", "gate.port is not a key"),
        (
            '[[gate.upstreams]]\napi = "anthropic"\nurl = "http://api.example"\nkey = "env:K"',
            "must not be sent in the clear",
        ),
        ('[[gate.upstreams]]\napi = "openai"\nurl = "https://api.example/v1"\nkey = "env:K"', "without a version"),
        (
            '[[gate.upstreams]]\napi = "openai"\nurl = "https://api.example"\nkey = "sk-proj-1234567890"',
            "gate.upstreams.0.key",
        ),
        ('[[gate.upstreams]]\napi = "mine"\nurl = "https://api.example"\nkey = "env:K"', "gate.upstreams.0.api"),
    ],
)
def test_a_gate_that_could_not_work_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(Misconfigured, match=why):
        load(tmp_path / "config.toml")


def test_two_upstreams_for_the_same_agents_are_refused(tmp_path: Path) -> None:
    one = '[[gate.upstreams]]\napi = "openai"\nurl = "https://api.example"\nkey = "env:K"\n'
    (tmp_path / "config.toml").write_text(one * 2)
    with pytest.raises(Misconfigured, match="two upstreams of the API openai for every account"):
        load(tmp_path / "config.toml")
