"""A mngr that hangs, lies, floods or dies: every call still ends, in time, and says how."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.mngr import MngrSettings, open_agents
from supervisor.adapters.mngr.answers import not_created
from supervisor.adapters.mngr.calls import Answer
from supervisor.errors import MngrFailed
from supervisor.ports import AgentAddress, MngrReason
from tests.adapters.mngr.sandboxes import Sandbox, device, processes_of, sandbox
from tests.waiting import until

NOBODY = AgentAddress(f"agent-{1:032x}", "host-1", "local")


def verbs(box: Sandbox) -> list[str]:
    return [call["argv"][0] for call in box.calls() if call["argv"][0] != "--version"]


def hanging(box: Sandbox, verb: str) -> list[dict[str, Any]]:
    alive = {process.pid for process in processes_of(box.root)}
    return [call for call in box.calls() if call["pid"] in alive and call["argv"][0] == verb]


async def test_a_call_without_an_answer_ends_at_its_deadline_with_all_its_processes() -> None:
    with sandbox(call_timeout=1.0) as box:
        box.goes_wrong({"verb": "list", "do": "hang"})
        async with device(box) as agents:
            with pytest.raises(MngrFailed, match="no answer within 1 s") as failed:
                await agents.list("local")
            assert failed.value.reason == "timeout"
            assert processes_of(box.root) == []


async def test_a_cancelled_call_leaves_no_process() -> None:
    with sandbox() as box:
        box.goes_wrong({"verb": "stop", "do": "hang"})
        async with device(box) as agents:
            call = asyncio.create_task(agents.stop([NOBODY]))
            await until("mngr hangs", lambda: hanging(box, "stop"))
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert processes_of(box.root) == []


async def test_closing_the_device_ends_what_is_under_way() -> None:
    with sandbox() as box:
        box.goes_wrong({"verb": "stop", "do": "hang"})
        async with device(box) as agents:
            call = asyncio.create_task(agents.stop([NOBODY]))
            await until("mngr hangs", lambda: hanging(box, "stop"))
            await agents.close()
            with pytest.raises(MngrFailed) as failed:
                await call
            assert failed.value.reason == "killed"


async def test_endless_output_is_cut_off() -> None:
    with sandbox(max_output_bytes=2**20) as box:
        box.goes_wrong({"verb": "exec", "do": "flood"})
        async with device(box) as agents:
            with pytest.raises(MngrFailed, match="more than 1048576 bytes") as failed:
                await agents.exec(NOBODY, "true")
            assert failed.value.reason == "garbage"


@pytest.mark.parametrize(
    ("do", "reason"),
    [
        ("garbage", "garbage"),
        ("killed", "killed"),
        ("duplicate", "duplicate"),
        ("down", "provider"),
        ("no-tmux", "provider"),
        ("not-ready", "not-started"),
    ],
)
async def test_a_create_that_fails_says_how(do: str, reason: MngrReason) -> None:
    with sandbox() as box:
        box.goes_wrong({"verb": "create", "do": do})
        async with device(box) as agents:
            with pytest.raises(MngrFailed) as failed:
                await agents.create(box.order())
            assert failed.value.reason == reason
            assert "\x1b" not in failed.value.message
            assert len(failed.value.message) < 600


@pytest.mark.parametrize("is_remote", [False, True])
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("no server running on /tmp/tmux-0/default", "provider"),
        ("server exited unexpectedly", "provider"),
        ("[lost server]", "provider"),
        ("error connecting to /run/agents/tmux-0/default (No such file or directory)", "provider"),
        ("Agent did not signal readiness within 10.0s. This may indicate a trust dialog appeared", "not-started"),
        ("the launch did not complete within 30s", "not-started"),
    ],
)
def test_an_agent_that_did_not_start_is_worth_another_try(words: str, reason: MngrReason, is_remote: bool) -> None:
    """Whether mngr tells it as an event, or as earlier versions do in words only. A tmux server that was killed is
    nobody's fault; an agent that came up too late is put away, and the next one may be in time."""
    error = {"event": "error", "error_class": "AgentStartError", "message": f"Failed to start agent n: {words}\n"}
    for answer in (Answer(1, json.dumps(error), ""), Answer(1, "", f"ERROR: Failed to start agent n: {words}\n")):
        assert not_created(answer, is_remote=is_remote).reason == reason


async def test_a_create_killed_after_its_work_leaves_an_agent_to_be_found() -> None:
    with sandbox() as box:
        box.goes_wrong({"verb": "create", "do": "killed", "nth": [1]}, {"verb": "create", "do": "killed-half"})
        async with device(box) as agents:
            for state in ("waiting", "stopped"):
                order = box.order()
                with pytest.raises(MngrFailed):
                    await agents.create(order)
                found = next(a for a in (await agents.list("local")).agents if a.name == order.name)
                assert found.state == state


async def test_copies_that_killed_creates_left_are_swept_with_the_next_destroy() -> None:
    with sandbox() as box:
        box.goes_wrong({"verb": "create", "do": "killed-early", "nth": [1]})
        copies = box.settings.host_dir / "copies"
        async with device(box) as agents:
            with pytest.raises(MngrFailed):
                await agents.create(box.order())
            address = await agents.create(box.order())
            assert len(names(copies)) == 2
            await agents.destroy([address])
            assert names(copies) == []
            assert (await agents.list("local")).agents == ()


async def test_nothing_is_swept_beside_a_create() -> None:
    """mngr would take the new agent's work directory for an orphan."""
    with sandbox() as box:
        box.goes_wrong(
            {"verb": "create", "do": "killed-early", "nth": [1]}, {"verb": "create", "do": "hang-after", "nth": [3]}
        )
        async with device(box) as agents:
            with pytest.raises(MngrFailed):
                await agents.create(box.order())
            address = await agents.create(box.order())
            slow = asyncio.create_task(agents.create(box.order()))
            await until("a create is under way", lambda: verbs(box).count("create") == 3)
            await agents.destroy([address])
            assert "gc" not in verbs(box)
            slow.cancel()
            await asyncio.gather(slow, return_exceptions=True)
            await agents.destroy([address])
            assert "gc" in verbs(box)


async def test_a_provider_that_is_down_hides_its_agents_but_says_so() -> None:
    with sandbox() as box:
        async with device(box) as agents:
            address = await agents.create(box.order())
            box.goes_wrong({"do": "down"})
            listing = await agents.list("local")
            assert (listing.agents, listing.complete) == ((), False)
            assert "connection refused" in listing.problems[0]
            for ask in (agents.stop([address]), agents.destroy([address]), agents.label(address, {"a": "b"})):
                with pytest.raises(MngrFailed) as failed:
                    await ask
                assert failed.value.reason == "provider"


async def test_agents_listed_with_a_failure_are_seen_and_the_failure_too() -> None:
    with sandbox() as box:
        box.goes_wrong({"verb": "list", "do": "exit1", "nth": [1]}, {"verb": "list", "do": "garbage"})
        async with device(box) as agents:
            address = await agents.create(box.order())
            listing = await agents.list("local")
            assert [a.address for a in listing.agents] == [address]
            assert not listing.complete
            assert not (await agents.list("local")).complete


async def test_an_agent_that_vanished_is_absent_from_a_complete_listing() -> None:
    with sandbox() as box:
        async with device(box) as agents:
            order = box.order()
            await agents.create(order)
            box.goes_wrong({"verb": "list", "do": "vanish", "id": order.id})
            listing = await agents.list("local")
            assert (listing.agents, listing.complete) == ((), True)


async def test_a_destroy_that_failed_after_its_work_is_asked_again() -> None:
    """As the real one does on the last agent of an ssh host."""
    with sandbox() as box:
        box.goes_wrong(
            {"verb": "destroy", "do": "exit1", "nth": [1]}, {"verb": "destroy", "do": "exit1", "nth": [3, 4]}
        )
        async with device(box) as agents:
            addresses = [await agents.create(box.order()) for _ in range(2)]
            await agents.destroy(addresses[:1])
            with pytest.raises(MngrFailed) as failed:
                await agents.destroy(addresses[1:])
            assert failed.value.reason == "refused"


async def test_creates_that_hang_hold_up_nothing_else() -> None:
    with sandbox() as box:
        box.goes_wrong({"verb": "create", "do": "hang"})
        async with device(box) as agents:
            creates = [asyncio.create_task(agents.create(box.order())) for _ in range(6)]
            await until("the lane of creates is full", lambda: len(hanging(box, "create")) == 4)
            assert (await agents.list("local")).complete
            await agents.stop([NOBODY])
            for create in creates:
                create.cancel()
            await asyncio.gather(*creates, return_exceptions=True)


async def test_secrets_stand_neither_on_argv_nor_in_mngrs_environment_nor_on_disk_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DAEMON_TOKEN", "the daemon's own")
    with sandbox() as box:
        async with device(box) as agents:
            address = await agents.create(box.order(env={"TOKEN": "s3cret-value"}, message="s3cret-words"))
            await agents.message(address, "s3cret-words")
        for call in box.calls():
            assert "s3cret" not in str(call["argv"])
            assert "DAEMON_TOKEN" not in call["env"]
            assert call["cwd"] == str(box.settings.cwd)
        assert names(box.settings.cwd / "calls") == []
        assert "s3cret-value" in (agents.state_dir(address.agent_id) / "env").read_text()


async def test_a_missing_mngr_is_said_with_a_hint() -> None:
    with sandbox(Path("no-such-mngr")) as box:
        async with device(box) as agents:
            with pytest.raises(MngrFailed, match="no-such-mngr") as failed:
                await agents.list("local")
            assert failed.value.reason == "missing"
            assert failed.value.hint


async def test_an_older_mngr_is_spoken_to_in_its_own_words(tmp_path: Path) -> None:
    with sandbox() as box:
        box.configure(version="0.2.2")
        async with device(box) as agents:
            order = box.order()
            address = await agents.create(order)
            await agents.pull(address, "README", tmp_path / "README")
            assert [agent async for agent in agents.observe()] == []
            await agents.destroy([address])
        said = {call["argv"][0]: call["argv"] for call in box.calls()}
        assert "--command" in said["create"]
        assert said["pull"][1].startswith(f"{order.id}:")
        assert order.id in said["destroy"]
        assert (tmp_path / "README").read_text() == "hello\n"


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", ""])
async def test_files_outside_the_state_directory_are_refused(name: str, tmp_path: Path) -> None:
    with sandbox() as box:
        async with device(box) as agents:
            with pytest.raises(MngrFailed) as failed:
                await agents.create(box.order(files={name: tmp_path}))
            assert failed.value.reason == "refused"


async def test_the_devices_directories_are_its_own(tmp_path: Path) -> None:
    settings = MngrSettings(tmp_path / "home", tmp_path / "tmux", tmp_path / "cwd")
    await (await open_agents(settings)).close()
    assert all((tmp_path / name).stat().st_mode & 0o077 == 0 for name in ("home", "tmux", "cwd"))


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]
