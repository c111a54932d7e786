"""The daemon as a whole: replay, then one task group for the loop, the watchers and the effects.

A stop detaches: no new effect is started, launches under way get a moment to finish, and agents live on.
"""

import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup

from supervisor.daemon.alerting import Alerting, Rules
from supervisor.daemon.attention import Attention
from supervisor.daemon.clock import SteadyClock
from supervisor.daemon.gatekeeping import Gatekeeping
from supervisor.daemon.lag import watch_lag
from supervisor.daemon.loop import Loop
from supervisor.daemon.perform import Doing, Performer
from supervisor.daemon.shortage import is_shortage, outlasting, passed
from supervisor.daemon.strays import Strays
from supervisor.daemon.watch import Rhythm, Watch
from supervisor.errors import DeviceFailed
from supervisor.flow.history import apply
from supervisor.model.alert import DEFAULT_RULES
from supervisor.model.attempt import Stage
from supervisor.model.batch import Batch
from supervisor.model.effect import Effect, Launch
from supervisor.model.event import DaemonStarted, PoolSpec
from supervisor.model.request import Configure, ConfigureAccounts
from supervisor.model.state import State
from supervisor.observe.metrics.meters import Meters
from supervisor.ports import (
    Agents,
    Clearing,
    Collector,
    Gate,
    Integrator,
    Journal,
    Judge,
    LocalSigns,
    Logs,
    Orders,
    SealedBatch,
    Store,
    Verifiers,
)
from supervisor.ports.review import Reviser
from supervisor.threads import at_length, in_thread

log = structlog.get_logger()

#: How long a stop waits for launches under way; the next start finds out what became of the rest.
DETACH_SECONDS = 3.0
#: A checkpoint is kept after this many events; the number is checked at this interval.
CHECKPOINT_EVENTS, CHECKPOINT_LOOK_SECONDS = 2_000, 1.0


NO_ACCOUNTS = ConfigureAccounts(())


@dataclass(frozen=True, slots=True)
class Devices:
    journal: Journal
    agents: Agents
    store: Store
    signs: LocalSigns
    orders: Orders
    collector: Collector
    judge: Judge
    integrator: Integrator
    reviser: Reviser
    logs: Logs
    clearing: Clearing
    seal: Callable[[Batch], SealedBatch]
    #: between the agents of this machine and their model; None: they call it directly
    gate: Gate | None = None
    #: called before anything is decided, with the ids of the agents that the previous daemon was launching
    leftovers: Callable[[list[str]], None] = field(default=lambda agent_ids: None)
    #: how a person runs mngr as the daemon does
    mngr: str = "mngr"
    #: None: everything is verified on this machine
    verifiers: Verifiers | None = None


class Daemon:
    def __init__(
        self,
        devices: Devices,
        pools: tuple[PoolSpec, ...],
        *,
        verify_slots: int = 1,
        accounts: ConfigureAccounts = NO_ACCOUNTS,
        rhythm: Rhythm | None = None,
        observe: bool = False,
        rules: Rules = lambda: DEFAULT_RULES,
        version: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._devices, self._pools, self._verify_slots = devices, pools, verify_slots
        self._accounts = accounts
        self._observe, self._rules, self._version = observe, rules, version
        self._clock = SteadyClock(clock, is_waiting=self._is_waiting)
        self._rhythm = rhythm or Rhythm()
        self._tasks: TaskGroup
        self._stop = anyio.Event()
        self.ready = anyio.Event()
        self._launching = 0
        self._launched = anyio.Event()
        self.meters = Meters()
        self.performer = Performer(
            agents=devices.agents,
            orders=devices.orders,
            collector=devices.collector,
            judge=devices.judge,
            integrator=devices.integrator,
            reviser=devices.reviser,
            logs=devices.logs,
            clearing=devices.clearing,
            tell=lambda event: self.loop.inbox.tell(event),
            clock=self._clock,
            state=lambda: self.loop.state,
        )
        self.loop: Loop
        self.watch: Watch

    def _is_waiting(self) -> bool:
        """Whether anything waits for time to pass, other than for a time of day."""
        if not hasattr(self, "loop"):
            return False
        state = self.loop.state
        return bool(state.attempts) or any(item[0] != "window" for item in state.agenda.times)

    def stop(self) -> None:
        self._stop.set()

    async def settled(self) -> None:
        """Return once every event told until now is journalled."""
        await self.loop.inbox.ask(Configure(self.loop.state.configured, self.loop.state.verifying.slots))

    async def run(self) -> None:
        """Run until `stop`. Raises Unreadable if the journal can't be read."""
        state = await at_length(self._replayed)
        launching = [a.agent_id for a in state.attempts.values() if a.stage is Stage.LAUNCHING]
        await in_thread(self._devices.leftovers, launching)
        await self._forget_unsubmitted(state)
        self.loop = Loop(state, self._devices.journal, self._clock, self._perform, self._devices.seal)
        self.meters.begin(state)
        self.loop.watch(self.meters.watch)
        self._look_around()
        with closing(self.loop.inbox):
            async with anyio.create_task_group() as self._tasks:
                self.loop.inbox.tell(DaemonStarted(self._clock(), version=self._version))
                for forever in self._forever():
                    self._tasks.start_soon(forever)
                await self.loop.inbox.ask(Configure(self._pools, self._verify_slots))
                await self.loop.inbox.ask(self._accounts)
                self.ready.set()
                await self._stop.wait()
                await self._detach()
                self._tasks.cancel_scope.cancel()

    def _look_around(self) -> None:
        """Create what reports to the loop: on agents that need attention, strays, listings, alerts and the gate."""
        if self._devices.verifiers is not None:
            self._devices.verifiers.state = lambda: self.loop.state
        self.attention = Attention(
            state=lambda: self.loop.state, tell=self.loop.inbox.tell, clock=self._clock, logs=self._devices.logs
        )
        self.watch = Watch(
            state=lambda: self.loop.state,
            tell=self.loop.inbox.tell,
            clock=self._clock,
            agents=self._devices.agents,
            collector=self._devices.collector,
            signs=self._devices.signs,
            strays=self._strays(),
            launching=self.performer.launching,
            rhythm=self._rhythm,
            heard=self.attention.heard,
        )
        self._alerting = Alerting(
            state=lambda: self.loop.state, tell=self.loop.inbox.tell, clock=self._clock, rules=self._rules
        )
        self._keeping: Gatekeeping | None = None
        if (gate := self._devices.gate) is not None:
            self._keeping = Gatekeeping(
                state=lambda: self.loop.state, tell=self.loop.inbox.tell, clock=self._clock, gate=gate
            )

    def _strays(self) -> Strays:
        return Strays(
            state=lambda: self.loop.state,
            tell=self.loop.inbox.tell,
            clock=self._clock,
            agents=self._devices.agents,
            collector=self._devices.collector,
            sealed=self._devices.journal.sealed_batch,
            mngr=self._devices.mngr,
            verifiers=self._devices.verifiers.live if self._devices.verifiers is not None else (),
        )

    @property
    def problems(self) -> Mapping[str, str]:
        """Providers that can't be reached, and what claims wait for."""
        verifiers = self._devices.verifiers
        return {**self.watch.problems, **(verifiers.problems if verifiers is not None else {})}

    def _replayed(self) -> State:
        journal = self._devices.journal
        after, state = journal.checkpoint() or (0, State(installation=journal.installation))
        for record in journal.replay(after):
            state = apply(state, record.event)
        return state

    async def _forget_unsubmitted(self, state: State) -> None:
        """Delete snapshots of batches that were never submitted: the previous daemon ended, or the disk was full."""
        store, journal = self._devices.store, self._devices.journal
        try:
            for batch in await store.untouched():
                if batch not in state.batches and await journal.sealed_batch(batch) is None:
                    await store.forget(batch)
        except DeviceFailed as failed:
            log.warning("can't clear away what was never submitted", why=failed.message)

    def _forever(self) -> list[Callable[[], Coroutine[object, object, None]]]:
        watch = self.watch
        beside = [
            watch.files,
            watch.signs,
            watch.listings,
            watch.hosts.run,
            self.attention.run,
            self._alerting.alerts,
            self._keep_checkpoints,
            self._watch_lag,
        ]
        beside += [watch.hints] if self._observe else []
        beside += [self._keeping.run] if self._keeping is not None else []
        beside += [self._devices.verifiers.tend] if self._devices.verifiers is not None else []
        return [self.loop.run, *(partial(outlasting, begin.__name__, begin) for begin in beside)]

    # --- effects

    def _perform(self, effect: Effect) -> None:
        if (doing := self.performer.doing(self.loop.state, effect)) is not None:
            if isinstance(effect, Launch):
                self._launching += 1
                self._tasks.start_soon(self._launch, effect, doing)
            else:
                self._tasks.start_soon(self._performed, effect, doing)

    async def _launch(self, effect: Launch, doing: Doing) -> None:
        try:
            await self._performed(effect, self._keeping.before(doing) if self._keeping is not None else doing)
        finally:
            self._launching -= 1
            if not self._launching:
                self._launched.set()

    async def _performed(self, effect: Effect, doing: Doing) -> None:
        began = time.monotonic()
        try:
            event = await doing()
        except Exception as bug:
            if is_shortage(bug) and not isinstance(effect, Launch):
                await passed(type(effect).__name__, bug)
                self._perform(effect)
                return
            # A bug in a device must not take the daemon down at night: it is one more way to fail.
            log.exception("bug while performing", effect=type(effect).__name__, began=effect.began)
            event = self.performer.failed(effect, f"{type(bug).__name__}: {bug}")
        self.meters.performed(effect, event, time.monotonic() - began)
        if event is not None:
            self.loop.inbox.tell(event)

    async def _watch_lag(self) -> None:
        await watch_lag(self.meters.lag.observe)

    async def _detach(self) -> None:
        self.loop.is_stopping = True
        self._launched = anyio.Event()
        if self._launching:
            with anyio.move_on_after(DETACH_SECONDS):
                await self._launched.wait()
        await self.settled()

    async def _keep_checkpoints(self) -> None:
        """Keep checkpoints, so that a restart replays thousands of events at most, however long a batch has run."""
        kept = self.loop.seq
        while True:
            await anyio.sleep(CHECKPOINT_LOOK_SECONDS)
            if self.loop.seq >= kept + CHECKPOINT_EVENTS:
                kept = self.loop.seq
                with suppress(DeviceFailed):  # a checkpoint is a shortcut: no reason to fail
                    await self._devices.journal.keep(kept, self.loop.state)
