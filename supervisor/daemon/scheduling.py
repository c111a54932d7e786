"""Submits scheduled batches at their time, as a person would: by `supervisorctl submit` in the repository."""

from collections.abc import Awaitable, Callable, Iterable

import structlog
from anyio import sleep
from anyio.abc import TaskGroup

from supervisor.errors import SupervisorError
from supervisor.flow import schedules as due_times
from supervisor.model import event as ev
from supervisor.model.schedule import Schedule
from supervisor.model.state import State
from supervisor.tasks import beside

log = structlog.get_logger()

LOOK_SECONDS = 5.0
#: a schedule that is held is checked again after this time: the check may call another service
AGAIN_SECONDS = 300.0


class Scheduling:
    def __init__(
        self,
        *,
        state: Callable[[], State],
        tell: Callable[[ev.Event], None],
        clock: Callable[[], float],
        schedules: Callable[[], Iterable[Schedule]],
        submit: Callable[[Schedule], Awaitable[str]],
        submitted: Callable[[Schedule, float], Awaitable[str]],
        pull_request: Callable[[Schedule], Awaitable[str]],
    ) -> None:
        """`submit` returns the id of the batch; `submitted`, the id of a batch submitted since that time, if any;
        `pull_request`, the open one of the same profile. They raise SupervisorError."""
        self._state, self._tell, self._clock, self._schedules = state, tell, clock, schedules
        self._submit, self._submitted, self._pull_request = submit, submitted, pull_request
        self._busy: set[str] = set()
        self._again: dict[str, float] = {}
        #: the last time handled: it is not handled again, even while the journal can't be written
        self._met: dict[str, float] = {}
        self._begun = clock()
        self._tasks: TaskGroup

    async def run(self) -> None:
        async with beside() as self._tasks:
            while True:
                self.look()
                await sleep(LOOK_SECONDS)

    def look(self) -> None:
        state, now, known = self._state(), self._clock(), tuple(self._schedules())
        names = tuple(schedule.name for schedule in known)
        if set(names) != set(state.schedules):
            self._tell(ev.SchedulesConfigured(now, names))
        for schedule in known:
            planned_at = due_times.due(state, schedule, now)
            if planned_at is None or schedule.name in self._busy or self._again.get(schedule.name, 0.0) > now:
                continue
            if planned_at <= self._met.get(schedule.name, 0.0):
                continue
            self._busy.add(schedule.name)
            self._tasks.start_soon(self._meet, schedule, planned_at)

    async def _meet(self, schedule: Schedule, planned_at: float) -> None:
        try:
            if batch := await self._left_behind(schedule, planned_at):
                self._met[schedule.name] = planned_at
                self._tell(ev.ScheduleEnded(self._clock(), schedule.name, planned_at, batch_id=batch))
            elif why := await self._why_not(schedule):
                self._hold(schedule, planned_at, why)
            else:
                await self._begin(schedule, planned_at)
        finally:
            self._busy.discard(schedule.name)

    async def _left_behind(self, schedule: Schedule, planned_at: float) -> str:
        """The batch that the previous daemon submitted, if it ended before it could record that."""
        run = self._state().schedules.get(schedule.name)
        return await self._submitted(schedule, planned_at) if run is not None and run.begun else ""

    async def _why_not(self, schedule: Schedule) -> str:
        if why := due_times.at_work(self._state(), schedule):
            return why
        try:
            url = await self._pull_request(schedule)
        except SupervisorError as failed:
            return f"it can't be told whether a pull request is open: {failed.message}"
        return f"the pull request {url} of profile {schedule.profile} is open" if url else ""

    def _hold(self, schedule: Schedule, planned_at: float, why: str) -> None:
        now, run = self._clock(), self._state().schedules.get(schedule.name)
        if due_times.is_too_late(schedule, planned_at, now, self._begun):
            self._met[schedule.name] = planned_at
            self._tell(ev.ScheduleSkipped(now, schedule.name, planned_at, why=why))
            return
        self._again[schedule.name] = now + AGAIN_SECONDS
        if run is not None and run.held != why:
            log.info("schedule waits", schedule=schedule.name, why=why)
            self._tell(ev.ScheduleHeld(now, schedule.name, planned_at, why=why))

    async def _begin(self, schedule: Schedule, planned_at: float) -> None:
        self._met[schedule.name] = planned_at
        self._tell(ev.ScheduleStarted(self._clock(), schedule.name, planned_at))
        try:
            batch, detail = await self._submit(schedule), ""
        except SupervisorError as failed:
            batch, detail = "", failed.message
            log.error("scheduled batch not submitted", schedule=schedule.name, why=detail)
        self._tell(ev.ScheduleEnded(self._clock(), schedule.name, planned_at, batch_id=batch, detail=detail))
