"""Turns an effect into a call on a device, and its result into an event. Nothing is decided here."""

from collections.abc import Callable, Coroutine
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import structlog

from supervisor.daemon.judging import Judging
from supervisor.daemon.leaving import Leaving
from supervisor.daemon.revising import Revising
from supervisor.daemon.shortage import is_shortage
from supervisor.daemon.surveying import Surveys
from supervisor.errors import DeviceFailed, Hostile, MngrFailed, SupervisorError
from supervisor.flow.governor.accounts import equipped
from supervisor.flow.partial import so_far
from supervisor.flow.retention import DAY
from supervisor.kinds import kind_of
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.effect import (
    Abandon,
    Clear,
    Collect,
    Effect,
    Integrate,
    IntegrateSoFar,
    Launch,
    LeaveBase,
    Nudge,
    Release,
    Revise,
    RunAtBase,
    Verify,
)
from supervisor.model.ledger import ON_BRANCH
from supervisor.model.pool import Pool
from supervisor.model.profile import Profile
from supervisor.model.state import State
from supervisor.ports import (
    AgentAddress,
    Agents,
    Clearing,
    Collector,
    Integrator,
    Judge,
    Judgement,
    Logs,
    Orders,
)
from supervisor.ports.review import Reviser
from supervisor.tasks import Promise

log = structlog.get_logger()

#: The delay before a retry; it doubles up to the limit.
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 1.0, 60.0


#: the work of an effect; it returns an event, or None if it was abandoned
type Doing = Callable[[], Coroutine[Any, Any, ev.Event | None]]


class Performer:
    def __init__(
        self,
        *,
        agents: Agents,
        orders: Orders,
        collector: Collector,
        judge: Judge,
        integrator: Integrator,
        reviser: Reviser,
        logs: Logs,
        clearing: Clearing,
        tell: Callable[[ev.Event], None],
        clock: Callable[[], float],
        state: Callable[[], State],
    ) -> None:
        self._logs, self._tell, self._clearing = logs, tell, clearing
        self._agents, self._orders, self._collector = agents, orders, collector
        self._integrator, self._clock = integrator, clock
        self._revising = Revising(reviser, clock)
        self._leaving = Leaving(agents, collector, logs, tell, clock)
        self._judging, self._surveys = Judging(judge, tell, clock, state), Surveys(judge, clock)
        #: hosts that are being created or could not be, by provider and name: other agents of a host wait for it
        self._hosts: dict[tuple[str, str], Promise[str | None]] = {}
        #: attempts whose `mngr create` has not returned: a listing says nothing reliable about them yet
        self.launching: set[AttemptKey] = set()

    def doing(self, state: State, effect: Effect) -> Doing | None:
        """The work of an effect; it returns the event that tells the result."""
        match effect:
            case Launch():
                self.launching.add(effect.attempt.key)
                self._forget_failed_hosts(state)
                pool = state.pools[effect.attempt.pool]
                return partial(self._launch, equipped(state, effect.attempt), effect.attempt, pool)
            case Nudge():
                return partial(self._nudge, effect, state.batches[effect.attempt.key.batch].profile)
            case Collect():
                return partial(self._collect, state.batches[effect.attempt.key.batch], effect.attempt, effect.rescue)
            case Verify():
                return partial(self._judging.verify, state.batches[effect.keys[0].batch], effect.keys, effect.pool)
            case Abandon():
                self._judging.abandon(effect.key)
                return None
            case RunAtBase() | LeaveBase():
                return self._surveys.doing(state, effect)
            case Release():
                retry_at = self._retry_at(effect.attempt.tries)
                return partial(self._leaving.release, state, effect.attempt, retry_at)
            case Integrate():
                return partial(self._integrate, state.batches[effect.batch], effect.number)
            case IntegrateSoFar():
                return partial(self._integrate_so_far, state.batches[effect.batch], effect)
            case Revise():
                return partial(self._revising.revise, state.reviews[effect.batch], effect.number)
            case Clear():
                return self._clear
            case _:
                return None

    def failed(self, effect: Effect, why: str) -> ev.Event:
        """The event for an effect that ended in a bug."""
        now = self._clock()
        later = now + LONGEST_RETRY_SECONDS
        match effect:
            case Launch():
                return ev.LaunchFailed(now, *effect.attempt.key, reason="garbage", detail=why)
            case Nudge():
                return ev.AgentNudged(
                    now, *effect.attempt.key, delivered=False, detail=why, reason=effect.began.reason
                )
            case Collect():
                return ev.CollectFailed(now, *effect.attempt.key, detail=why, retry_at=later)
            case Verify():
                return self._judging.failed(effect.keys, why)
            case RunAtBase():
                return self._surveys.failed(effect, why)
            case Release():
                return ev.ReleaseFailed(now, *effect.attempt.key, detail=why, retry_at=later)
            case Integrate():
                return ev.IntegrationFailed(now, effect.batch, effect.number, detail=why, retry_at=later)
            case IntegrateSoFar():
                return ev.PartialFailed(now, effect.batch, effect.number, detail=why, retry_at=later)
            case Revise():
                return self._revising.failed(effect.batch, effect.number, why)
            case Clear():
                return ev.ClearingEnded(now, problems=(why,), again_at=now + DAY)
            case _:
                raise AssertionError(f"{effect} has nothing to perform")

    def _retry_at(self, tries: int) -> float:
        return self._clock() + min(RETRY_SECONDS * 2.0**tries, LONGEST_RETRY_SECONDS)

    async def _launch(self, batch: Batch, attempt: Attempt, pool: Pool) -> ev.Event:
        trouble: str | None = "garbage"
        try:
            await self._host_is_there(attempt)
            if attempt.continues:
                await self._lay_out(batch, attempt)
            order = replace(self._orders.order(batch, attempt), build_args=pool.build_args)
            address = await self._agents.create(order)
            trouble = None
        except MngrFailed as failed:
            trouble = failed.reason
            return ev.LaunchFailed(self._clock(), *attempt.key, reason=failed.reason, detail=failed.message)
        except (SupervisorError, OSError) as failed:
            reason = "provider" if is_shortage(failed) else "refused"
            return ev.LaunchFailed(self._clock(), *attempt.key, reason=reason, detail=str(failed))
        finally:
            self.launching.discard(attempt.key)
            self._host_is_made(attempt, trouble)
        return ev.LaunchSucceeded(self._clock(), *attempt.key, host_id=address.host_id)

    async def _lay_out(self, batch: Batch, attempt: Attempt) -> None:
        """Work that can't be laid out stays where it was rescued to, and the agent starts at the base."""
        try:
            await self._collector.lay_out(batch, attempt)
        except (DeviceFailed, Hostile, OSError) as failed:
            log.warning("can't begin with what was rescued", attempt=str(attempt.key), why=str(failed))

    async def _host_is_there(self, attempt: Attempt) -> None:
        """The first agent on a new host creates it; the others wait until it exists."""
        key = (attempt.provider, attempt.host)
        if attempt.new_host:
            self._hosts[key] = Promise()
        elif (made := self._hosts.get(key)) is not None and (trouble := await made.awaited()) is not None:
            reason = trouble if trouble == "rate" else "provider"
            raise MngrFailed(f"the host {attempt.host} could not be made", reason=reason)

    def _host_is_made(self, attempt: Attempt, trouble: str | None) -> None:
        """Nobody has to wait for a host that exists. A failure is kept for the agents that were assigned to the host
        before the failure was journalled."""
        if attempt.new_host:
            self._hosts[attempt.provider, attempt.host].is_value(trouble)
            if trouble is None:
                del self._hosts[attempt.provider, attempt.host]

    def _forget_failed_hosts(self, state: State) -> None:
        wanted = {host for pool in state.pools.values() for host in pool.members} if self._hosts else set()
        self._hosts = {key: made for key, made in self._hosts.items() if not made.known.is_set() or key[1] in wanted}

    async def _nudge(self, nudge: Nudge, profile: Profile) -> ev.Event:
        address = AgentAddress.of(nudge.attempt)
        try:
            if nudge.asks:
                await self._agents.exec(address, kind_of(profile.agent).refusal)
            await self._agents.message(address, nudge.text)
        except DeviceFailed as failed:
            return self.failed(nudge, failed.message)
        return ev.AgentNudged(self._clock(), *nudge.attempt.key, reason=nudge.began.reason)

    async def _collect(self, batch: Batch, attempt: Attempt, rescue: bool) -> ev.Event:
        key = attempt.key
        try:
            if rescue:
                return await self._leaving.rescue(batch, attempt)
            home = await self._collector.collect(batch, attempt)
        except Hostile as hostile:
            return ev.PublicationRefused(self._clock(), *key, reason=hostile.reason, detail=hostile.message)
        except DeviceFailed as failed:
            retry_at = self._retry_at(attempt.tries)
            return ev.CollectFailed(self._clock(), *key, detail=failed.message, retry_at=retry_at)
        return ev.WorkCollected(
            self._clock(), *key, claim=home.claim, detail=home.detail, head=home.head, commits=home.commits
        )

    async def _integrate(self, batch: Batch, number: int) -> ev.Event:
        try:
            done = await self._integrator.integrate(batch, number)
        except DeviceFailed as failed:
            retry_at = self._clock() + LONGEST_RETRY_SECONDS
            return ev.IntegrationFailed(self._clock(), batch.id, number, detail=failed.message, retry_at=retry_at)
        if isinstance(done, Judgement):
            return ev.JudgementWanted(self._clock(), batch.id, number, why=done.why)
        return ev.IntegrationEnded(
            self._clock(),
            batch.id,
            number,
            ledger=done.ledger,
            branch=done.branch,
            pull_request=done.pull_request,
            problems=done.problems,
            head=done.head,
            notes=done.notes,
        )

    async def _integrate_so_far(self, batch: Batch, wanted: IntegrateSoFar) -> ev.Event:
        number = wanted.number
        try:
            done = await self._integrator.integrate(so_far(batch, wanted.jobs), number)
        except DeviceFailed as failed:
            retry_at = self._clock() + LONGEST_RETRY_SECONDS
            return ev.PartialFailed(self._clock(), batch.id, number, detail=failed.message, retry_at=retry_at)
        assert not isinstance(done, Judgement), "by machine alone"
        return ev.PartialEnded(
            self._clock(),
            batch.id,
            number,
            branch=done.branch,
            pull_request=done.pull_request,
            problems=done.problems,
            head=done.head,
            merged=sum(row.fate in ON_BRANCH for row in done.ledger.values()),
            left=len(batch.tests) - len(wanted.jobs),
        )

    async def _clear(self) -> ev.Event:
        return ev.ClearingEnded(self._clock(), **asdict(await self._clearing.clear()))
