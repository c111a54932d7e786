"""An event loop that tells for how long it waits: who looks at a clock again and again is seen without waiting."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

#: what wakes up after a longer time is at rest until then
REST_SECONDS = 1.0
#: who waits so often before that never comes to rest
MOST_WAITS = 20


class _Selector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        #: each wait in seconds, but for those that are rest
        self.waits: list[float] = []
        self.resting: asyncio.Event | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.resting is None or timeout == 0:
            return super().select(timeout)
        if timeout is None or timeout > REST_SECONDS:
            self.resting.set()
            return super().select(0)
        self.waits.append(timeout)
        assert len(self.waits) < MOST_WAITS, f"never at rest: {self.waits}"
        return super().select(timeout)


class Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._waiting = _Selector()
        super().__init__(self._waiting)

    async def rest(self) -> list[float]:
        """Until there is nothing to do for long: how long each wait before that was."""
        self._waiting.resting, self._waiting.waits = asyncio.Event(), []
        await self._waiting.resting.wait()
        self._waiting.resting = None
        return self._waiting.waits


def on_a_loop(doing: Callable[[Loop], Coroutine[Any, Any, None]]) -> None:
    """Run it on such a loop."""
    loop = Loop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(doing(loop))
