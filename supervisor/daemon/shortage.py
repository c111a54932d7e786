"""Shortages of the machine: descriptors, processes, memory, disk space. They pass, and the daemon waits for that."""

import errno
from collections.abc import Callable, Coroutine
from typing import Any

import structlog
from anyio import sleep

log = structlog.get_logger()

RETRY_SECONDS = 2.0

_SHORT = {
    errno.EMFILE,
    errno.ENFILE,
    errno.EAGAIN,
    errno.ENOMEM,
    errno.ENOBUFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EIO,
}


def is_shortage(error: BaseException) -> bool:
    """Whether an error is a shortage. A thread that can't be started is reported without an errno."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_shortage(each) for each in error.exceptions)
    if isinstance(error, RuntimeError):
        return "can't start new thread" in str(error)
    return isinstance(error, OSError) and error.errno in _SHORT


async def outlasting(what: str, begin: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a task, and start it again whenever it ends because the machine is short of something."""
    while True:
        try:
            return await begin()
        except Exception as error:
            if not is_shortage(error):
                raise
            await passed(what, error)


async def passed(what: str, error: BaseException) -> None:
    first = error
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    log.error("the machine is short of something: trying again", doing=what, why=str(first))
    await sleep(RETRY_SECONDS)
