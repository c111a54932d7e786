"""One request of an agent that costs tokens, from its admission to its settlement.

While its provider refuses it for a limit or an overload, the request is held. At first the agent gets no response;
after a while, if it asked for a stream, the stream begins with keep-alives, and reports the result or an error later.
When the agent disconnects, waiting ends at once; a response under way is read for a while longer, until the provider
has reported the usage.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import structlog
from anyio import CancelScope, create_task_group, move_on_after, sleep
from starlette.types import Receive, Send

from supervisor.gate.admission import Admission, Reservation, Wait
from supervisor.gate.api import Api, Asked
from supervisor.gate.claims import Claim
from supervisor.gate.counts import Counts
from supervisor.gate.doors import Door, Doors
from supervisor.gate.keys import Pass
from supervisor.gate.limits import Obstacle, obstacle
from supervisor.gate.provider import Answer, Provider
from supervisor.gate.refusals import Refused
from supervisor.gate.windows import Windows

log = structlog.get_logger()

#: Keep-alives begin after this time on hold, and are repeated at this interval.
QUIET_SECONDS, SIGN_SECONDS = 15.0, 10.0
#: how long a response is read on after the agent has disconnected
SETTLE_SECONDS = 30.0
STREAM = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]


@dataclass(frozen=True, slots=True)
class Desk:
    """What all exchanges have in common."""

    admission: Admission
    counts: Counts
    doors: Doors
    windows: Windows
    hold_seconds: float
    quiet_seconds: float = QUIET_SECONDS


@dataclass(slots=True)
class Exchange:
    desk: Desk
    owner: Pass
    provider: Provider
    path: str
    asked: Asked
    receive: Receive
    send: Send
    began: float = field(default_factory=time.time)
    #: when it first had to wait
    held_at: float = 0.0
    #: the response to the agent has begun; the agent has disconnected; its request is at the provider
    is_begun: bool = False
    is_gone: bool = False
    is_under_way: bool = False

    @property
    def api(self) -> Api:
        return self.provider.api

    @property
    def account(self) -> str:
        return self.provider.account.name

    @property
    def deadline(self) -> float:
        return self.began + self.desk.hold_seconds

    async def run(self) -> None:
        """Raises Refused only before the response has begun."""
        refused: Refused | None = None
        async with create_task_group() as tasks:
            tasks.start_soon(self._until_gone, tasks.cancel_scope)
            try:
                await self._answered()
            except Refused as told:
                refused = told
            tasks.cancel_scope.cancel()
        if refused is not None:
            if not self.is_begun:
                raise refused
            await self._fails(refused.status, refused.message)
            await self._adds(b"", more=False)

    async def _until_gone(self, scope: CancelScope) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self.is_gone = True
        if self.is_under_way:
            await sleep(SETTLE_SECONDS)
        scope.cancel()

    async def _answered(self) -> None:
        claims = await self._room()
        with self.desk.admission.reserved(self.owner, self.account, self.asked, claims) as room:
            answer = await self._served(room)
            try:
                await self._passed_on(answer, room)
            finally:
                with CancelScope(shield=True):
                    await answer.close()
        await self._adds(b"", more=False)  # the usage is recorded before the agent can go on

    # --- until the provider serves it

    async def _room(self) -> tuple[Claim, ...]:
        admission = self.desk.admission
        while isinstance(found := admission.look(self.owner, self.asked, self.deadline), Wait):
            if time.time() >= self.deadline:
                raise Refused(529, "requests under way hold what is left of the budget: try again later")
            async with self._on_hold(found.why, found.until):
                await admission.settled()
        return found

    async def _served(self, room: Reservation) -> Answer:
        while True:
            door = await self._through_the_door()
            try:
                answer = await self._asked_for(room)
                found = self._judged(answer)
            finally:
                door.tried()
            if found is None:
                self.desk.doors.opened(self.account, self.asked.model, door)
                return answer
            door = self.desk.doors.shut(self.account, self.asked.model, door, found)
            log.info("held", attempt=_name(self.owner), account=self.account, why=found.why, until=round(door.until))
            if door.until > self.deadline or self.is_gone:
                return answer

    async def _through_the_door(self) -> Door:
        door = self.desk.doors.of(self.account, self.asked.model)
        while door.is_shut:
            if door.until > self.deadline:
                raise self._shut_out(door)
            async with self._on_hold(door.why, door.until):
                with move_on_after(max(0.0, self.deadline - time.time())) as scope:
                    await door.passed()
            if not scope.cancelled_caught:
                break
        return door

    def _shut_out(self, door: Door) -> Refused:
        seconds = max(1, round(door.until - time.time()))
        message = door.said or f"account {self.account} is not served for {self.asked.model} ({door.why})"
        status = 529 if door.why == "overload" else 429
        return Refused(status, message, headers=((b"retry-after", str(seconds).encode()),))

    async def _asked_for(self, room: Reservation) -> Answer:
        room.is_sent()
        self.is_under_way = True
        answer = await self.provider.answer(self.path, self.asked.body)
        self.desk.windows.heard(self.account, answer.headers)
        if answer.error is not None:
            room.cost_nothing()
            self.is_under_way = False
        return answer

    def _judged(self, answer: Answer) -> Obstacle | None:
        if answer.error is None:
            return None
        return obstacle(answer.status, answer.headers, answer.error, time.time())

    @asynccontextmanager
    async def _on_hold(self, why: str, until: float | None) -> AsyncIterator[None]:
        self.held_at = self.held_at or time.time()
        id_ = self.desk.counts.hold(self.owner.attempt, self.asked.model, why, until)
        try:
            async with create_task_group() as tasks:
                if self.asked.streams:
                    tasks.start_soon(self._give_signs)
                yield
                tasks.cancel_scope.cancel()
        finally:
            self.desk.counts.release(id_)

    async def _give_signs(self) -> None:
        await sleep(max(0.0, self.held_at + self.desk.quiet_seconds - time.time()))
        while True:
            if not self.is_begun:
                await self._begins(200, STREAM)
            await self._adds(self.api.alive(self.path))
            await sleep(min(SIGN_SECONDS, self.desk.quiet_seconds))

    # --- the answer

    async def _passed_on(self, answer: Answer, room: Reservation) -> None:
        if answer.error is not None:
            await self._tells(answer, answer.error)
            return
        meter = self.api.meter(self.path, answer.content_type)
        if not self.is_begun:
            await self._begins(answer.status, list(answer.told))
        try:
            async for chunk in answer.chunks():
                meter.feed(chunk)
                await self._adds(chunk)
        except httpx.HTTPError as error:
            if not answer.content_type.startswith("text/event-stream"):
                raise  # the promised body can't be completed: break the agent's connection, too
            await self._fails(529, f"the connection to the provider broke: {type(error).__name__}")
        finally:
            meter.end()
            room.took(meter)

    async def _tells(self, answer: Answer, error: bytes) -> None:
        """Pass on the provider's own error."""
        if self.is_begun:
            await self._fails(answer.status, answer.message or f"the provider answers {answer.status}")
            return
        await self._begins(answer.status, [*answer.told, (b"content-length", str(len(error)).encode())])
        await self._adds(error)

    async def _fails(self, status: int, message: str) -> None:
        await self._adds(self.api.failure(self.path, status, message))

    async def _begins(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.is_begun = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def _adds(self, body: bytes, *, more: bool = True) -> None:
        if not self.is_gone:
            await self.send({"type": "http.response.body", "body": body, "more_body": more})


def _name(owner: Pass) -> str:
    batch, job, attempt = owner.attempt
    return f"{batch}.{job}/{attempt}"
