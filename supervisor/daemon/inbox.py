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

#: One turn of the loop takes so many messages at most, so that one commit stays small.
MOST_IN_A_TURN = 512


@dataclass(slots=True)
class Asked:
    """A request with the place its answer goes to: the events it led to, or the refusal."""

    request: Request
    answer: Promise[list[Event]] = field(repr=False, default_factory=Promise)

    def resolve(self, events: list[Event]) -> None:
        self.answer.is_value(events)

    def refuse(self, refusal: SupervisorError) -> None:
        self.answer.is_error(refusal)


type Message = Event | Asked


class Inbox:
    """Never refuses and never blocks a sender: what devices say is bounded by the number of agents."""

    def __init__(self) -> None:
        self._sender, self._messages = create_memory_object_stream[Message](math.inf)
        #: heard before all that waits in the stream
        self._again: deque[Message] = deque()

    def tell(self, event: Event) -> None:
        """Of what is said after the end nothing is kept: devices say it again."""
        with suppress(ClosedResourceError):
            self._sender.send_nowait(event)

    async def ask(self, request: Request) -> list[Event]:
        """What came of the request, once it is safe on disk. Raises Refused."""
        asked = Asked(request)
        try:
            self._sender.send_nowait(asked)
        except ClosedResourceError:
            raise _stopping() from None
        return await asked.answer.awaited()

    async def take(self, wait: float | None) -> list[Message]:
        """All that has arrived; nothing when `wait` seconds pass first."""
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
        """These could not be written down: they are heard again, first."""
        self._again.extendleft(reversed(events))

    def close(self) -> None:
        """Nobody is heard from now on, and who waits for an answer gets none."""
        self._sender.close()
        while messages := self._arrived():
            for message in messages:
                if isinstance(message, Asked):
                    message.refuse(_stopping())
        self._messages.close()


def _stopping() -> Refused:
    return Refused("the daemon is stopping", hint="ask again once it runs")
