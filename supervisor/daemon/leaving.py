"""Puts agents away: their work is rescued, then they are destroyed, or kept if some of it could not be rescued."""

from collections.abc import Callable

from supervisor.errors import DeviceFailed, Hostile, MngrFailed
from supervisor.flow.attention import usage_counted
from supervisor.flow.lifecycle import NOTHING_LAUNCHED
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt
from supervisor.model.batch import Batch
from supervisor.model.job import How
from supervisor.model.state import State
from supervisor.model.usage import NOTHING
from supervisor.ports import KEPT, UNSAVED, AgentAddress, Agents, Collection, Collector, Logs


class Leaving:
    def __init__(
        self,
        agents: Agents,
        collector: Collector,
        logs: Logs,
        tell: Callable[[ev.Event], None],
        clock: Callable[[], float],
    ) -> None:
        self._agents, self._collector, self._logs = agents, collector, logs
        self._tell, self._clock = tell, clock

    async def rescue(self, batch: Batch, attempt: Attempt) -> ev.Event:
        """A local agent is stopped first: what it does after the rescue would be lost with it."""
        if attempt.provider == "local":
            await self._logs.finish(attempt, published=False)
            await self._end(attempt)
        left = await self._left_by(batch, attempt)
        return ev.WorkRescued(
            self._clock(),
            *attempt.key,
            head=left.head,
            commits=left.commits,
            detail=left.detail,
            unsaved=left.unsaved,
            clone=left.clone,
        )

    async def _left_by(self, batch: Batch, attempt: Attempt) -> Collection:
        try:
            return await self._collector.rescue(batch, attempt)
        except Hostile as hostile:
            return Collection(unsaved=f"{hostile.reason}: {hostile.message}")

    async def _end(self, attempt: Attempt) -> None:
        try:
            await self._agents.stop([AgentAddress.of(attempt)])
        except MngrFailed as failed:
            if failed.reason != "no-such-agent":
                raise

    async def release(self, state: State, attempt: Attempt, retry_at: float) -> ev.Event:
        usage = await self._logs.finish(attempt, published=_has_published(state, attempt))
        if usage != NOTHING:
            self._tell(usage_counted(self._clock(), attempt.key, usage))
        left = Collection()
        try:
            if _may_live(state, attempt):
                await self._end(attempt)
                left = await self._left_by(state.batches[attempt.key.batch], attempt)
            await self._put_away(attempt, unsaved=attempt.unsaved or bool(left.unsaved))
        except DeviceFailed as failed:
            if not isinstance(failed, MngrFailed) or failed.reason != "no-such-agent":
                return ev.ReleaseFailed(self._clock(), *attempt.key, detail=failed.message, retry_at=retry_at)
        return ev.AgentReleased(
            self._clock(),
            *attempt.key,
            kept=attempt.keep or bool(left.unsaved),
            head=left.head,
            commits=left.commits,
            unsaved=left.unsaved,
            clone=left.clone,
        )

    async def _put_away(self, attempt: Attempt, *, unsaved: bool) -> None:
        address = AgentAddress.of(attempt)
        if unsaved or (attempt.keep and attempt.host_id):
            await self._agents.stop([address])
            await self._agents.label(address, {KEPT: UNSAVED if unsaved else "true"})
        else:
            await self._agents.destroy([address])


def _may_live(state: State, attempt: Attempt) -> bool:
    """Whether the agent may be at work although mngr failed to create it: not every failure rules that out."""
    ending = state.batches[attempt.key.batch].job(attempt.key.job).ending
    is_settled = ending is None or ending.how is not How.UNLAUNCHED or ending.reason in NOTHING_LAUNCHED
    return not attempt.host_id and not attempt.unsaved and not is_settled


def _has_published(state: State, attempt: Attempt) -> bool:
    job = state.batches[attempt.key.batch].job(attempt.key.job)
    is_last = job.attempts == attempt.key.attempt
    return is_last and job.ending is not None and job.ending.how is How.PUBLISHED
