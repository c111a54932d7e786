"""Verifications as the shell performs them: one call of the judge for each group, which may be given up."""

from collections.abc import Callable, Mapping

import anyio

from supervisor.errors import DeviceFailed
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.verdict import Verdict
from supervisor.ports import Judge, PutBack

type Verdicts = Mapping[AttemptKey, Verdict | PutBack]


class Judging:
    def __init__(self, judge: Judge, tell: Callable[[ev.Event], None], clock: Callable[[], float]) -> None:
        self._judge, self._tell, self._clock = judge, tell, clock
        #: verifications under way, by the first claim of each
        self._scopes: dict[AttemptKey, anyio.CancelScope] = {}

    async def verify(self, batch: Batch, keys: tuple[AttemptKey, ...], pool: str) -> ev.Event | None:
        """None: it was abandoned."""
        with anyio.CancelScope() as scope:
            self._scopes[keys[0]] = scope
            try:
                return self._told(keys, await self._verdicts(batch, keys, pool))
            finally:
                del self._scopes[keys[0]]
        return None

    async def _verdicts(self, batch: Batch, keys: tuple[AttemptKey, ...], pool: str) -> Verdicts:
        jobs = [batch.job(key.job) for key in keys]
        try:
            if len(jobs) > 1:
                found = await self._judge.verify_together(batch, jobs, pool)
                return {key: found[key.job] for key in keys}
            return {keys[0]: await self._judge.verify(batch, jobs[0], pool)}
        except DeviceFailed as failed:
            return _unsettled(keys, failed.message)

    def _told(self, keys: tuple[AttemptKey, ...], found: Verdicts) -> ev.Event:
        """Of several verdicts, the last is returned, and the others are told."""
        now = self._clock()
        *others, last = (
            ev.WorkPutBack(now, *key, most=said.most, detail=said.why, meets=tuple(sorted(said.meets)))
            if isinstance(said := found[key], PutBack)
            else ev.WorkVerified.of(now, key, said)
            for key in keys
        )
        for event in others:
            self._tell(event)
        return last

    def abandon(self, key: AttemptKey) -> None:
        if key in self._scopes:
            self._scopes[key].cancel()

    def failed(self, keys: tuple[AttemptKey, ...], why: str) -> ev.Event:
        return self._told(keys, _unsettled(keys, why))


def _unsettled(keys: tuple[AttemptKey, ...], why: str) -> Verdicts:
    """It did not come to a verdict: of several, each is tried alone."""
    if len(keys) > 1:
        return dict.fromkeys(keys, PutBack(why))
    return {keys[0]: Verdict("failed", f"not verified: {why}", "unverified", why)}
