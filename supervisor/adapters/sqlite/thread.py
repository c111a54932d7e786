"""A database connection with the one thread that may use it, and transactions."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from anyio import CancelScope


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of its changes are on disk when it ends, or none of them."""
    with undone_on_error(connection):
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")


@contextmanager
def undone_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # after some errors, such as a full disk, SQLite has rolled back by itself
            connection.execute("ROLLBACK")
        raise


class ConnectionThread:
    """Runs work on a connection in order, on its own thread. sqlite3 refuses its use on any other thread."""

    def __init__(self, name: str, connect: Callable[[], sqlite3.Connection]) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        try:
            self._connection = self._executor.submit(connect).result()
        except BaseException:
            self._executor.shutdown()
            raise

    async def run[T](self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The work's result. Cancellation does not interrupt it: the caller waits until the work is done."""
        with CancelScope(shield=True):
            done = await asyncio.get_running_loop().run_in_executor(self._executor, work, self._connection)
        return done  # noqa: RET504 -- by its type, a scope may swallow exceptions

    async def close(self) -> None:
        await self.run(sqlite3.Connection.close)
        self._executor.shutdown()
