"""Calls through the fork server are the same calls, only sooner; without it they are plain ones."""

import asyncio
import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import pytest

from supervisor.adapters.mngr import MngrAgents, fork_server
from supervisor.adapters.mngr.calls import Answer, Calls
from supervisor.adapters.mngr.plain import PlainTransport
from supervisor.adapters.mngr.warm import CLOSE_SECONDS, WarmTransport
from supervisor.daemon.service import DETACH_SECONDS
from supervisor.errors import MngrFailed
from tests.adapters.mngr.sandboxes import PATH, REAL, STUB, Sandbox, device, processes_of, sandbox
from tests.waiting import until, until_sync

IMPORTABLE = f"""
import runpy
class cli:
    @staticmethod
    def main(args, prog_name):
        runpy.run_path({str(STUB)!r}, run_name="__main__")
"""


@contextlib.contextmanager
def importable_stub(**settings: Any) -> Iterator[Sandbox]:
    """The stand-in as mngr is installed: a script of a Python that can import `imbue.mngr.main`."""
    with sandbox(Path("mngr"), warm=True, **settings) as box:
        package = box.root / "lib" / "imbue" / "mngr"
        package.mkdir(parents=True)
        (package / "main.py").write_text(IMPORTABLE)
        command = box.root / "bin" / "mngr"
        command.parent.mkdir()
        command.write_text(STUB.read_text().replace("/usr/bin/env -S python3 -I -S", sys.executable))
        command.chmod(0o755)
        env = {"PATH": f"{command.parent}:{PATH}", "PYTHONPATH": str(box.root / "lib")}
        object.__setattr__(box.settings, "env", env)
        yield box


def servers(box: Sandbox) -> list[int]:
    """The processes that forked the calls, one entry per call."""
    return [call["parent"] for call in box.calls() if call["argv"][0] == "list"]


async def test_one_server_answers_all_calls() -> None:
    with importable_stub() as box:
        async with device(box) as agents:
            facts = await agents.facts()
            assert (facts.transport, facts.fallback) == ("warm", "")
            for _ in range(3):
                assert (await agents.list("local")).complete
            assert len(set(servers(box))) == 1
            assert servers(box)[0] != os.getpid()
        until_sync("the server ends with the device", lambda: not processes_of(box.root))


async def test_a_server_that_died_is_replaced() -> None:
    with importable_stub() as box:
        async with device(box) as agents:
            await agents.list("local")
            server = psutil.Process(servers(box)[0])
            server.kill()
            await until("the server is gone", lambda: server.pid not in {p.pid for p in processes_of(box.root)})
            assert (await agents.list("local")).complete
            assert (await agents.facts()).transport == "warm"
            assert len(set(servers(box))) == 2


async def test_a_server_that_hangs_is_killed_when_the_device_closes() -> None:
    """Together with what the daemon allows for launches under way it fits into the 5 s of a stop."""
    assert DETACH_SECONDS + CLOSE_SECONDS < 5
    with importable_stub() as box:
        async with device(box) as agents:
            await agents.list("local")
            server = psutil.Process(servers(box)[0])
            server.suspend()
            await until("it hangs", lambda: server.status() == psutil.STATUS_STOPPED)
        assert server.pid not in {process.pid for process in processes_of(box.root)}


@pytest.mark.parametrize("changed", ["bin/mngr", "cwd/.mngr/settings.toml", "home/.mngr/profiles/p/settings.toml"])
async def test_a_change_of_mngr_or_its_settings_starts_a_new_server(changed: str) -> None:
    with importable_stub() as box:
        async with device(box) as agents:
            await agents.list("local")
            path = box.root / changed
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            await agents.list("local")
            assert len(set(servers(box))) == 2


async def test_a_call_under_way_is_finished_by_the_server_that_began_it() -> None:
    with importable_stub() as box:
        box.goes_wrong({"verb": "stop", "do": "slow", "seconds": 1})
        async with device(box) as agents:
            order = box.order()
            address = await agents.create(order)
            stopping = asyncio.create_task(agents.stop([address]))
            await until("the call runs", lambda: any(c["argv"][0] == "stop" for c in box.calls()))
            (box.root / "bin" / "mngr").touch()
            await agents.list("local")
            await stopping
            assert (await agents.list("local")).agents[0].state == "stopped"


async def test_a_deadline_kills_a_forked_call() -> None:
    with importable_stub(call_timeout=2.0) as box:
        box.goes_wrong({"verb": "list", "do": "hang"})
        async with device(box) as agents:
            with pytest.raises(MngrFailed) as failed:
                await agents.list("local")
            assert failed.value.reason == "timeout"
            hung = {call["pid"] for call in box.calls() if call["argv"][0] == "list"}
            assert not hung & {process.pid for process in processes_of(box.root)}


async def test_calls_cut_off_by_the_death_of_the_server_are_unknown_and_do_not_go_on() -> None:
    with importable_stub() as box:
        box.goes_wrong({"verb": "label", "do": "hang"})
        async with device(box) as agents:
            address = await agents.create(box.order())
            call = asyncio.create_task(agents.label(address, {"a": "b"}))
            await until("mngr hangs", lambda: any(c["argv"][0] == "label" for c in box.calls()))
            hung = next(c for c in box.calls() if c["argv"][0] == "label")
            os.kill(hung["parent"], signal.SIGKILL)
            with pytest.raises(MngrFailed) as failed:
                await call
            assert failed.value.reason == "killed"
            await until(
                "the forked call died too", lambda: hung["pid"] not in {p.pid for p in processes_of(box.root)}
            )


@pytest.mark.parametrize("is_warm", [True, False])
def test_no_call_outlives_a_killed_daemon(is_warm: bool) -> None:
    program = """
import asyncio, pickle, sys
from supervisor.adapters.mngr import open_agents
async def main():
    await (await open_agents(pickle.loads(bytes.fromhex(sys.argv[1])))).list("local")
asyncio.run(main())
"""
    with importable_stub() as box:
        box.goes_wrong({"verb": "list", "do": "hang"})
        settings = pickle.dumps(replace(box.settings, warm=is_warm)).hex()
        box.settings.cwd.mkdir()
        daemon = subprocess.Popen([sys.executable, "-c", program, settings])
        try:
            until_sync("mngr hangs", lambda: any(c["argv"][0] == "list" for c in box.calls()))
        finally:
            daemon.kill()
            daemon.wait()
        until_sync("nothing is left", lambda: not processes_of(box.root))


async def test_without_a_server_calls_are_plain_and_the_reason_is_told() -> None:
    with importable_stub() as box:
        (box.root / "lib" / "imbue" / "mngr" / "main.py").write_text("raise ImportError('no such luck')")
        async with device(box) as agents:
            assert (await agents.list("local")).complete
            facts = await agents.facts()
            assert (facts.transport, facts.fallback) == ("plain", "ImportError: no such luck")


async def test_a_command_that_is_no_python_script_is_called_plainly() -> None:
    with sandbox(warm=True) as box:
        async with device(box) as agents:
            assert isinstance(agents, MngrAgents)
            assert (await agents.list("local")).complete
            facts = await agents.facts()
            assert facts.transport == "plain"
            assert "interpreter" in facts.fallback


NOBODY = f"agent-{1:032x}@host-{1:032x}.local"
ASKED = (
    ("list", "--provider", "local", "--format", "jsonl"),
    ("list", "--no-such-option"),
)
#: each takes a second without the fork server
ASKED_BESIDES = (
    ("destroy", "--force", NOBODY, "--format", "jsonl"),
    ("stop", NOBODY, "--format", "jsonl"),
    ("label", NOBODY, "--format", "jsonl"),
    ("gc", "--dry-run", "--provider", "nope", "--format", "jsonl"),
)

type Asked = Sequence[Sequence[str]]


async def answers(box: Sandbox, transport: PlainTransport | WarmTransport, asked: Asked) -> list[Answer]:
    calls = Calls(transport, 2**20)
    try:
        return [await calls.run("list", argv, 60, "local") for argv in asked]
    finally:
        await calls.close()


@pytest.mark.real
@pytest.mark.parametrize("asked", [ASKED, pytest.param(ASKED_BESIDES, marks=pytest.mark.proof)], ids=["some", "more"])
async def test_the_real_mngr_answers_the_same_through_the_fork_server(asked: Asked) -> None:
    with sandbox(REAL, warm=True) as box:
        async with device(box) as agents:
            assert (await agents.facts()).transport == "warm"
        plain = PlainTransport(box.settings)
        assert await answers(box, WarmTransport(box.settings, plain), asked) == await answers(box, plain, asked)


def test_what_never_changes_is_found_out_once_by_whatever_name_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    home, user = ModuleType("sv_home"), ModuleType("sv_user")
    asked: list[tuple[object, ...]] = []

    def look(*about: object, **more: object) -> int:
        asked.append((*about, *more.values()))
        return len(asked)

    for module in (home, user):
        monkeypatch.setattr(module, "look", look, raising=False)
        monkeypatch.setitem(sys.modules, module.__name__, module)

    fork_server.put_in_place(home.look, fork_server.asked_once)

    assert (home.look(None, "group"), user.look(start=None, cg="another")) == (1, 1)
    assert (user.look("/there", "group"), home.look("/there", "group")) == (2, 2)
    assert asked == [(None, "group"), ("/there", "group")]


def test_a_mngr_without_the_spared_names_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "CONSTANT", (("json", "no_such_function"), ("no_such_module", "it")))
    monkeypatch.setattr(fork_server, "ASKED_AGAIN", ("no_such_module", "it"))
    monkeypatch.setattr(fork_server, "UNREAD", ("json", "JSONEncoder", "no_such_method"))
    before = vars(json.JSONEncoder).copy()

    fork_server.spare_calls()

    assert vars(json.JSONEncoder) == before
