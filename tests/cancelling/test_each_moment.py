"""At any moment, a cancellation ends what is under way within its time, and nothing of it stays behind."""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import anyio.lowlevel
import pytest

from supervisor.adapters.git.process import git
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.process import printing, run
from supervisor.threads import in_thread
from supervisor.verification.trials import running
from tests.adapters.mngr.sandboxes import Sandbox, device, processes_of, sandbox
from tests.adapters.mngr.test_warm import importable_stub
from tests.cancelling.moments import at_each_moment, files_in
from tests.control.served import a_repo
from tests.publication.rescue_place import made
from tests.waiting import until

ENV = {"PATH": os.environ["PATH"]}
#: of a machine that does other things as well
SOON = 10.0


async def test_a_program() -> None:
    """It reads, prints on both ways, and leaves a process of its group behind that would go on."""
    script = "sleep 600 & cat; echo no >&2; sleep 0.05"
    moments = await at_each_moment(
        partial(run, ["sh", "-c", script], env=ENV, timeout=20, stdin=b"x" * 2**17), within=SOON
    )
    assert moments > 3


async def test_a_program_that_does_not_heed_the_word_to_end() -> None:
    script = "trap '' TERM; sleep 600 & wait"

    async def late() -> None:
        with pytest.raises(TimeoutError):
            await run(["sh", "-c", script], env=ENV, timeout=0.2, grace=0.1)

    assert await at_each_moment(late, within=SOON) > 2


async def test_a_program_whose_lines_are_followed() -> None:
    async def three() -> None:
        async with printing(["sh", "-c", "sleep 600 & while echo line; do sleep 0.01; done"], env=ENV) as told:
            for _ in range(3):
                assert await told.lines.next() == b"line"

    assert await at_each_moment(three, within=SOON) > 1


async def test_a_checkout_of_git(tmp_path: Path) -> None:
    repo, store = a_repo(tmp_path), GitStore(tmp_path / "state")
    base = (await git(repo, "rev-parse", "HEAD")).decode().strip()
    await store.snapshot(repo, base, "b")
    before = files_in(tmp_path)

    async def checked_out() -> None:
        await store.checkout(repo, base, tmp_path / "checkout")
        await store.discard(tmp_path / "checkout")

    moments = await at_each_moment(checked_out, within=SOON)
    await store.discard(tmp_path / "checkout")  # whole, if it was made at all
    assert files_in(tmp_path) == before
    assert moments > 10


@pytest.mark.parametrize("means", ["namespace", "subreaper"])
async def test_a_trial(means: running.Means, tmp_path: Path) -> None:
    if means == "namespace" and await running.means_here() != "namespace":
        pytest.skip("no pid namespace can be made here")
    stay = f"setsid -f {sys.executable} -c 'import time; time.sleep(600)'"
    argv = ["sh", "-c", f"{stay}; cat; exit 3"]
    moments = await at_each_moment(
        partial(running.run, argv, cwd=tmp_path, env=ENV, timeout=20, stdin=b"x", means=means), within=SOON
    )
    assert moments > 1


@pytest.mark.parametrize("place", [sandbox, importable_stub], ids=["plain", "warm"])
async def test_a_call_of_mngr(place: Callable[[], AbstractContextManager[Sandbox]]) -> None:
    with place() as box:

        async def listed() -> None:
            async with device(box) as agents:
                await agents.list("local")

        assert await at_each_moment(listed, within=SOON) > 3
        await until("nothing of mngr goes on", lambda: not processes_of(box.root))


async def test_taking_home_what_an_agent_left(tmp_path: Path) -> None:
    """Half of an import is nothing: no file of it stays."""
    there = await made(tmp_path)
    (there.clone.work / "new.txt").write_text("not committed")
    await at_each_moment(there.take, within=SOON, every=7)
    assert there.file("new.txt") == "not committed"
    assert not [path for path in there.bare.iterdir() if path.name.startswith("incoming-")]
    assert not list(there.bare.rglob("*.lock"))


async def test_work_in_a_thread_is_waited_for(tmp_path: Path) -> None:
    """So nobody clears away what it works on."""
    done: list[int] = []

    async def worked() -> None:
        await in_thread(done.append, 1)
        await anyio.lowlevel.checkpoint()

    moments = await at_each_moment(worked, within=SOON)
    assert moments >= 2
    assert done
