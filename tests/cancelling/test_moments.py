"""The look at what is left notices what it is there for, and a moment is none that is not reached."""

import asyncio
import os
import subprocess
import threading

import anyio.lowlevel
import pytest

from tests.cancelling.moments import Left, cancelled_at
from tests.waiting import until


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
    if what == "process":
        left = subprocess.Popen(["sleep", "600"])  # noqa: ASYNC220
        end = lambda: (left.kill(), left.wait())  # noqa: E731
    elif what == "task":
        task = asyncio.create_task(asyncio.sleep(600))
        end = task.cancel
    elif what == "thread":
        thread = threading.Thread(target=over.wait, name="left")
        thread.start()
        end = over.set
    else:
        number = os.open(os.devnull, os.O_RDONLY)
        end = lambda: os.close(number)  # noqa: E731
    seen = Left.now().more_than(before)
    end()
    assert what in seen
    await until("it is gone", lambda: Left.now().more_than(before) == "")
