"""The look at what is left notices what it is there for, and a moment is none that is not reached."""

import asyncio
import os
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path

import anyio.lowlevel
import pytest

from tests.cancelling.moments import Left, cancelled_at, nothing_more_than


async def test_each_moment_comes_once() -> None:
    reached: list[int] = []

    async def steps() -> None:
        for number in range(3):
            await anyio.lowlevel.checkpoint()
            reached.append(number)

    assert [(await cancelled_at(number, steps)).seen for number in (1, 2, 3, 4)] == [1, 2, 3, 3]
    assert reached == [0, 0, 1, 0, 1, 2]


async def test_a_task_of_its_own_has_moments_too() -> None:
    async def steps() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.sleep(0))

    assert (await cancelled_at(0, steps)).seen == 2


@pytest.mark.parametrize("what", ["process", "task", "thread", "descriptor"])
async def test_what_is_left_is_seen(what: str) -> None:
    before, over = Left.now(), threading.Event()
    with ExitStack() as left:
        if what == "process":
            process = left.enter_context(subprocess.Popen(["sleep", "600"]))  # noqa: ASYNC220
            left.callback(process.kill)
        elif what == "task":
            left.callback(asyncio.create_task(asyncio.sleep(600)).cancel)
        elif what == "thread":
            threading.Thread(target=over.wait, name="left").start()
            left.callback(over.set)
        else:
            left.enter_context(Path(os.devnull).open())  # noqa: ASYNC230
        seen = Left.now().more_than(before)
    assert what in seen
    await nothing_more_than(before, what)
