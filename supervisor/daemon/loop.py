"""The main loop: take what has happened, decide what is due, journal both, start what is due.

    people ──► inbox ──► apply ─► plan ─► journal ─► perform ──► devices (mngr, git, …)
                 ▲                                                  │
                 └────────── events ◄── perform, watch ◄────────────┘

This is the only writer of the state and of the journal. Its rules:

- Apply before append: an event that the state does not allow is dropped, so the whole journal can be replayed.
- Append before doing: the start of an effect is on disk before the effect runs, so after a crash the journal tells
  what may have been under way. A request is answered after the append, so what it confirms is on disk.
- Plan to the fixed point: `plan` is called until nothing is due, so nothing has to be remembered or notified.

One turn costs one commit, however many messages it took.
"""

from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial

import structlog
from anyio import Lock, sleep
from anyio.lowlevel import checkpoint

from supervisor.daemon.inbox import Asked, Inbox, Message
from supervisor.errors import DeviceFailed, ImpossibleTransition, SupervisorError
from supervisor.flow.history import apply
from supervisor.flow.plan import next_at, plan
from supervisor.flow.requests import decide
from supervisor.model.batch import Batch
from supervisor.model.effect import Effect
from supervisor.model.event import BatchSealed, Event
from supervisor.model.state import State
from supervisor.ports import Journal, SealedBatch

log = structlog.get_logger()

#: The loop reads the clock at least this often, because the clock may have been set.
LONGEST_SLEEP_SECONDS = 60.0
JOURNAL_RETRY_SECONDS = 1.0


class Turn:
    """The results of one turn of the loop, before any of them is written."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.events: list[Event] = []
        self.effects: list[Effect] = []
        self.sealed: list[Batch] = []

    def record(self, event: Event) -> None:
        before, self.state = self.state, apply(self.state, event)
        self.events.append(event)
        if isinstance(event, BatchSealed):
            self.sealed.append(before.batches[event.batch])

    def hear(self, event: Event) -> None:
        """Record a device's event, or drop it if the state does not allow it: devices send events twice, or late."""
        try:
            self.record(event)
        except ImpossibleTransition as late:
            log.debug("drop event", kind=event.kind, why=late.message)

    def answer(self, asked: Asked, now: float) -> Callable[[], None]:
        """Record the events that the request leads to, and return the call that answers it."""
        untouched = self.state, len(self.events)
        try:
            events = decide(self.state, asked.request, now)
            for event in events:
                self.record(event)
        except SupervisorError as refused:
            self.state = untouched[0]
            del self.events[untouched[1] :]
            return partial(asked.refuse, refused)
        return partial(asked.resolve, events)

    def settle(self, now: float) -> None:
        while effects := plan(self.state, now):
            for effect in effects:
                self.record(effect.began)
                self.effects.append(effect)


class Loop:
    def __init__(
        self,
        state: State,
        journal: Journal,
        clock: Callable[[], float],
        perform: Callable[[Effect], None],
        seal: Callable[[Batch], SealedBatch],
    ) -> None:
        self.state, self.inbox = state, Inbox()
        #: the sequence number of the last event written; 0: this daemon has written none
        self.seq = 0
        self._journal, self._clock, self._perform, self._seal = journal, clock, perform, seal
        self._watchers: list[Callable[[State, Iterable[Event]], None]] = []
        #: held while the journal has events that the state does not have yet
        self._writing = Lock(fast_acquire=True)
        #: events are still journalled, but no effect is started
        self.is_stopping = False

    def watch(self, watcher: Callable[[State, Iterable[Event]], None]) -> None:
        """Call `watcher` with each new state and the events that led to it, after they are written."""
        self._watchers.append(watcher)

    async def caught_up(self) -> None:
        """Wait until the state has all events that can be read from the journal now."""
        async with self._writing:
            pass

    async def run(self) -> None:
        with closing(self.inbox):
            while True:
                await self._next_turn()

    async def _next_turn(self) -> None:
        due = None if self.is_stopping else next_at(self.state, self._clock())
        wait = LONGEST_SLEEP_SECONDS if due is None else min(max(0.0, due - self._clock()), LONGEST_SLEEP_SECONDS)
        await self.turn(await self.inbox.take(wait))

    async def turn(self, messages: list[Message]) -> None:
        now, turn = self._clock(), Turn(self.state)
        answers = []
        for message in messages:
            if isinstance(message, Asked):
                answers.append(turn.answer(message, now))
            else:
                turn.hear(message)
        if not self.is_stopping:
            turn.settle(now)
        async with self._writing:
            if turn.events and not await self._written(turn, messages):
                return
            self.state = turn.state
        for watcher in self._watchers:
            watcher(self.state, turn.events)
        for answer in answers:
            answer()
        for effect in turn.effects:
            self._perform(effect)
        await checkpoint()

    async def _written(self, turn: Turn, messages: list[Message]) -> bool:
        """If the journal can't be written, the turn is dropped: devices' events wait, requests are refused."""
        try:
            self.seq = await self._journal.append(turn.events, [self._seal(batch) for batch in turn.sealed])
        except DeviceFailed as failed:
            log.error("can't write the journal", why=failed.message)
            self.inbox.put_back([message for message in messages if isinstance(message, Event)])
            for message in messages:
                if isinstance(message, Asked):
                    message.refuse(failed)
            await sleep(JOURNAL_RETRY_SECONDS)
            return False
        return True
