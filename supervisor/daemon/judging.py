"""Performs verifications: one call of the judge for each group of claims, which may be abandoned.

The result of a claim is told as soon as it is settled, so that no claim waits for another. Only the first claim, by
which the group is named, is told last: its event ends the group.
"""

from collections.abc import Callable, Mapping

import anyio

from supervisor.errors import DeviceFailed
from supervisor.flow.verifying import width_of
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.state import State
from supervisor.model.verdict import Verdict
from supervisor.ports import Judge, PutBack, Sitting

type Verdicts = Mapping[AttemptKey, Verdict | PutBack]


class Judging:
    def __init__(
        self,
        judge: Judge,
        tell: Callable[[ev.Event], None],
        clock: Callable[[], float],
        state: Callable[[], State],
    ) -> None:
        self._judge, self._tell, self._clock, self._state = judge, tell, clock, state
        #: verifications under way, by their first claim: the scope that cancels each, and the claims already told
        self._scopes: dict[AttemptKey, anyio.CancelScope] = {}
        self._told: dict[AttemptKey, set[AttemptKey]] = {}

    async def verify(self, batch: Batch, keys: tuple[AttemptKey, ...], pool: str) -> ev.Event | None:
        """Verify a group of claims; None if it was abandoned."""
        first, *others = keys
        with anyio.CancelScope() as scope:
            self._scopes[first] = scope
            try:
                # If this is a retry after a shortage of resources, some claims were told before.
                told = self._told.setdefault(first, set())
                left = (first, *(key for key in others if key not in told))
                return self._ended(keys, await self._verdicts(batch, left, pool))
            finally:
                del self._scopes[first]
        del self._told[first]
        return None

    async def _verdicts(self, batch: Batch, keys: tuple[AttemptKey, ...], pool: str) -> Verdicts:
        jobs, named = [batch.job(key.job) for key in keys], {key.job: key for key in keys}

        def tell(job: int, said: Verdict | PutBack) -> None:
            if (key := named[job]) != keys[0]:
                self._told[keys[0]].add(key)
                self._tell(self._event(key, said))

        try:
            if len(jobs) > 1:
                sitting = Sitting(tell, lambda: width_of(self._state(), keys[0]))
                found = await self._judge.verify_together(batch, jobs, pool, sitting)
                return {key: found[key.job] for key in keys}
            return {keys[0]: await self._judge.verify(batch, jobs[0], pool)}
        except DeviceFailed as failed:
            return _unsettled(keys, failed.message)

    def _ended(self, keys: tuple[AttemptKey, ...], found: Verdicts) -> ev.Event:
        """Return the event of the first claim, and tell those of other claims that were not told yet."""
        first, *others = keys
        told = self._told.pop(first, set())
        for key in others:
            if key not in told:
                self._tell(self._event(key, found[key]))
        return self._event(first, found[first])

    def _event(self, key: AttemptKey, said: Verdict | PutBack) -> ev.Event:
        now = self._clock()
        if isinstance(said, PutBack):
            return ev.WorkPutBack(now, *key, most=said.most, detail=said.why, meets=tuple(sorted(said.meets)))
        return ev.WorkVerified.of(now, key, said)

    def abandon(self, key: AttemptKey) -> None:
        if key in self._scopes:
            self._scopes[key].cancel()

    def failed(self, keys: tuple[AttemptKey, ...], why: str) -> ev.Event:
        return self._ended(keys, _unsettled(keys, why))


def _unsettled(keys: tuple[AttemptKey, ...], why: str) -> Verdicts:
    """There is no verdict: of several claims, each is put back to be verified alone."""
    if len(keys) > 1:
        return dict.fromkeys(keys, PutBack(why))
    return {keys[0]: Verdict("failed", f"not verified: {why}", "unverified", why)}
