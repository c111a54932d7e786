"""The one way in: events from devices, requests from people."""

import math
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from anyio import ClosedResourceError, EndOfStream, WouldBlock, create_memory_object_stream, move_on_after

from supervisor.errors import Refused, SupervisorError
from supervisor.model.event import Event
from supervisor.model.request import Request
from supervisor.tasks import Promise

#: The most messages that one turn of the loop takes, so that its commit stays small.
MOST_IN_A_TURN = 512


@dataclass(slots=True)
class Asked:
    """A request and the promise of its answer: the events it led to, or the refusal."""

    request: Request
    answer: Promise[list[Event]] = field(repr=False, default_factory=Promise)

    def resolve(self, events: list[Event]) -> None:
        self.answer.is_value(events)

    def refuse(self, refusal: SupervisorError) -> None:
        self.answer.is_error(refusal)


type Message = Event | Asked


class Inbox:
    """Never refuses and never blocks a sender: the number of agents bounds what devices send."""

    def __init__(self) -> None:
        self._sender, self._messages = create_memory_object_stream[Message](math.inf)
        #: events to take before those in the stream
        self._again: deque[Message] = deque()

    def tell(self, event: Event) -> None:
        """Add an event. After `close` it is dropped: devices report it again."""
        with suppress(ClosedResourceError):
            self._sender.send_nowait(event)

    async def ask(self, request: Request) -> list[Event]:
        """Return the events that the request led to, once they are safe on disk. Raises Refused."""
        asked = Asked(request)
        try:
            self._sender.send_nowait(asked)
        except ClosedResourceError:
            raise _stopping() from None
        return await asked.answer.awaited()

    async def take(self, wait: float | None) -> list[Message]:
        """The messages that have arrived; none if `wait` seconds pass first."""
        if not (found := self._arrived()):
            with move_on_after(math.inf if wait is None else wait):
                found = [await self._messages.receive()]
                found += self._arrived(MOST_IN_A_TURN - 1)
        return found

    def _arrived(self, most: int = MOST_IN_A_TURN) -> list[Message]:
        found = [self._again.popleft() for _ in range(min(len(self._again), most))]
        try:
            while len(found) < most:
                found.append(self._messages.receive_nowait())
        except (WouldBlock, EndOfStream, ClosedResourceError):
            pass
        return found

    def put_back(self, events: list[Event]) -> None:
        """Put back events that could not be journalled: they are taken again, before all others."""
        self._again.extendleft(reversed(events))

    def close(self) -> None:
        """Accept no more messages, and refuse all requests that wait."""
        self._sender.close()
        while messages := self._arrived():
            for message in messages:
                if isinstance(message, Asked):
                    message.refuse(_stopping())
        self._messages.close()


def _stopping() -> Refused:
    return Refused("the daemon is stopping", hint="ask again once it runs")
