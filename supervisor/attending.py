"""What runs beside the daemon while it serves: alerts, schedules, traces, and checks of mngr and tmux."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from anyio.abc import TaskGroup

from supervisor.adapters.alerts.receivers import deliveries
from supervisor.adapters.submitting import submit
from supervisor.adapters.telemetry.telling import Telemetry
from supervisor.adapters.tmux_signs import TmuxSigns
from supervisor.daemon.loop import Loop
from supervisor.daemon.scheduling import Scheduling
from supervisor.daemon.shortage import is_shortage, outlasting
from supervisor.errors import MngrFailed
from supervisor.integration.review.pull_requests import Where, credential
from supervisor.integration.review.waiting import waiting
from supervisor.model.schedule import Schedule
from supervisor.observe.metrics.meters import Meters
from supervisor.observe.stream import Stream
from supervisor.paths import credentials_directory
from supervisor.ports import Agents, Journal
from supervisor.settings import Settings, schedules
from supervisor.settings.profiles import local_timezone

log = structlog.get_logger()


async def mngr_facts(agents: Agents, facts: dict[str, Any]) -> None:
    """Nothing waits for mngr: without it the daemon answers, keeps what it has, and reports the problem."""
    try:
        facts["mngr"] = asdict(await agents.facts())
    except MngrFailed as failed:
        facts["mngr"] = {"problem": failed.message}
        log.error("can't use mngr", why=failed.message, hint=failed.hint)


async def warn_of_shared_fate(signs: TmuxSigns) -> None:
    if await signs.share_our_fate():
        hint = "start agent-supervisor-agents.service before this one: see docs/systemd.md"
        log.warning("local agents would end with this service: their tmux server is not outside of it", hint=hint)


class Attending:
    def __init__(
        self, current: Callable[[], Settings], loop: Loop, journal: Journal, stream: Stream, meters: Meters
    ) -> None:
        """`current`: the configuration, which a reload changes."""
        self._current, self._loop, self._journal = current, loop, journal
        self._deliveries = deliveries(current(), credentials_directory(), journal, stream)
        self.telemetry = Telemetry(current(), credentials_directory(), journal, stream, meters.traced)
        self._scheduling = Scheduling(
            state=lambda: loop.state,
            tell=loop.inbox.tell,
            clock=time.time,
            schedules=self.schedules,
            submit=lambda schedule: submit(schedule, current().socket),
            submitted=self._submitted,
            pull_request=self._pull_request,
        )

    def start(self, tasks: TaskGroup) -> None:
        for delivery in self._deliveries:
            tasks.start_soon(outlasting, f"alerts for {delivery.receiver.name}", delivery.run)

        tasks.start_soon(outlasting, "schedules", self._scheduling.run)
        tasks.start_soon(outlasting, "traces", self._trace)

    async def _trace(self) -> None:
        """Traces must not end any other work, not even by a bug."""
        try:
            await self.telemetry.run()
        except Exception as bug:
            if is_shortage(bug):
                raise
            log.exception("bug while telling traces: none is told until a restart")
            self.telemetry.told.problem = f"a bug ended the telling of traces until a restart: {type(bug).__name__}"

    def schedules(self) -> tuple[Schedule, ...]:
        return schedules(self._current().schedules, local_timezone())

    async def _submitted(self, schedule: Schedule, since: float) -> str:
        """The batch of its repository and profile that was submitted since that time, open or not."""
        wanted = (schedule.repo, schedule.profile)
        for batch in self._loop.state.batches.values():
            if (batch.repo, batch.profile.name) == wanted and batch.created_at >= since:
                return batch.id
        for each in await self._journal.sealed():
            status = json.loads(each.status)["batch"]
            if (status["repo"], status["profile"]) == wanted and each.created_at >= since:
                return each.id
        return ""

    async def _pull_request(self, schedule: Schedule) -> str:
        github = self._current().github
        if not github.token:
            return ""
        token = partial(credential, credentials_directory(), github.token)
        where = Where(github.api_url, token, github.remote, github.repositories, github.base)
        return await waiting(where, Path(schedule.repo), schedule.profile)

    def receivers(self) -> Mapping[str, Any]:
        return {delivery.receiver.name: delivery.told.data for delivery in self._deliveries}
