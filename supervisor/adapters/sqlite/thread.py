"""A connection with the one thread that may touch it, and what a transaction is."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from anyio import CancelScope


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it is on disk when it ends, or none of it."""
    with undone_on_error(connection):
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")


@contextmanager
def undone_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # after some errors, such as a full disk, SQLite has undone it by itself
            connection.execute("ROLLBACK")
        raise


class ConnectionThread:
    """Work for a connection, done in order on its own thread. sqlite3 sees to it that no other touches it."""

    def __init__(self, name: str, connect: Callable[[], sqlite3.Connection]) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        try:
            self._connection = self._executor.submit(connect).result()
        except BaseException:
            self._executor.shutdown()
            raise

    async def run[T](self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What it comes to. Work that has begun is waited for, whoever is cancelled: it will have been done."""
        with CancelScope(shield=True):
            done = await asyncio.get_running_loop().run_in_executor(self._executor, work, self._connection)
        return done  # noqa: RET504 -- to its type a scope may swallow what is raised in it

    async def close(self) -> None:
        await self.run(sqlite3.Connection.close)
        self._executor.shutdown()
