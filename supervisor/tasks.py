"""Tasks that run beside their owner, and end with it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

from anyio import Event, create_task_group
from anyio.abc import TaskGroup


@asynccontextmanager
async def beside() -> AsyncIterator[TaskGroup]:
    """Tasks that are cancelled and awaited when the block is left. A single error is raised as itself."""
    try:
        async with create_task_group() as tasks:
            yield tasks
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as several:
        if len(several.exceptions) > 1:
            raise
        raise several.exceptions[0] from None


class Promise[T]:
    """The result of something, for whoever asks later: a value, or an error."""

    def __init__(self) -> None:
        self.known = Event()
        self._value: list[T] = []
        self._error: Exception | None = None

    async def of(self, doing: Callable[[], Awaitable[T]]) -> None:
        """Do it, and keep its result or error; never raises."""
        try:
            self.is_value(await doing())
        except Exception as error:
            self.is_error(error)

    def is_value(self, value: T) -> None:
        self._value.append(value)
        self.known.set()

    def is_error(self, error: Exception) -> None:
        self._error = error
        self.known.set()

    async def awaited(self) -> T:
        await self.known.wait()
        return self.told()

    def told(self) -> T:
        """The result, once it is known."""
        if self._error is not None:
            raise self._error
        return self._value[0]


async def all_of[T](doings: Iterable[Callable[[], Awaitable[T]]]) -> list[T]:
    """Their results; all of them run at the same time, and to their end. An error is raised as itself."""
    promises = list[Promise[T]]()
    async with create_task_group() as tasks:
        for doing in doings:
            promises.append(Promise[T]())
            tasks.start_soon(promises[-1].of, doing)
    return [each.told() for each in promises]
