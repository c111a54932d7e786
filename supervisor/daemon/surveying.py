"""Performs surveys: one call of the judge for each group of files, which may be abandoned."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import anyio
import structlog

from supervisor.errors import DeviceFailed
from supervisor.flow.surveying import lost
from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.model.effect import LeaveBase, RunAtBase
from supervisor.model.state import State
from supervisor.ports import Judge

log = structlog.get_logger()

type Running = Coroutine[Any, Any, ev.Event | None]


class Surveys:
    def __init__(self, judge: Judge, clock: Callable[[], float]) -> None:
        self._judge, self._clock = judge, clock
        #: groups under way
        self._scopes: dict[tuple[str, int], anyio.CancelScope] = {}

    def doing(self, state: State, effect: RunAtBase | LeaveBase) -> Callable[[], Running] | None:
        if isinstance(effect, RunAtBase):
            return partial(self._run, state.batches[effect.batch], effect)
        if (scope := self._scopes.get((effect.batch, effect.number))) is not None:
            scope.cancel()
        return None

    async def _run(self, batch: Batch, group: RunAtBase) -> ev.Event | None:
        """Survey a group of files; None if it was abandoned."""
        key = (group.batch, group.number)
        with anyio.CancelScope() as scope:
            self._scopes[key] = scope
            try:
                found = await self._judge.survey(batch, group.files)
            except DeviceFailed as failed:
                return self.failed(group, failed.message)
            finally:
                del self._scopes[key]
            return ev.SurveyEnded(self._clock(), *key, found)
        return None

    def failed(self, group: RunAtBase, why: str) -> ev.Event:
        log.warning("files were not run at the base", batch=group.batch, files=group.files, why=why)
        return ev.SurveyEnded(self._clock(), group.batch, group.number, lost(group.files))
