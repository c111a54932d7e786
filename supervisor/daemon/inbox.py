"""The one way in: events from devices, requests from people."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from supervisor.errors import SupervisorError
from supervisor.model.event import Event
from supervisor.model.request import Request

#: One turn of the loop takes so many messages at most, so that one commit stays small.
MOST_IN_A_TURN = 512


@dataclass(slots=True)
class Asked:
    """A request with the place its answer goes to: the events it led to, or the refusal."""

    request: Request
    answer: asyncio.Future[list[Event]] = field(repr=False)

    def resolve(self, events: list[Event]) -> None:
        if not self.answer.done():  # who asked may have gone away
            self.answer.set_result(events)

    def refuse(self, refusal: SupervisorError) -> None:
        if not self.answer.done():
            self.answer.set_exception(refusal)


type Message = Event | Asked


class Inbox:
    """Never refuses and never blocks a sender: what devices say is bounded by the number of agents."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._arrived = asyncio.Event()

    def tell(self, event: Event) -> None:
        self._put(event)

    async def ask(self, request: Request) -> list[Event]:
        """What came of the request, once it is safe on disk. Raises Refused."""
        asked = Asked(request, asyncio.get_running_loop().create_future())
        self._put(asked)
        return await asked.answer

    def _put(self, message: Message) -> None:
        self._messages.append(message)
        self._arrived.set()

    async def take(self, wait: float | None) -> list[Message]:
        """All that has arrived; nothing when `wait` seconds pass first."""
        if not self._messages:
            self._arrived.clear()
            try:
                async with asyncio.timeout(wait):
                    await self._arrived.wait()
            except TimeoutError:
                return []
        return [self._messages.popleft() for _ in range(min(len(self._messages), MOST_IN_A_TURN))]

    def put_back(self, events: list[Event]) -> None:
        """These could not be written down: they are heard again, first."""
        self._messages.extendleft(reversed(events))
