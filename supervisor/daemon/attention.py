"""Finds the agents that need attention, which wait, fall silent or ask, and counts what each has used so far.

Theory of operation. The activity of agents is seen in their own files (`Logs.sight`), and for agents on other hosts
in mngr's listings. It is compared with the state, and changes are told. Nothing is decided here. An agent on another
host counts as quiet only if its host says so, too. A marker that an agent leaves counts once it has stayed a moment.
"""

from collections.abc import Callable

import structlog
from anyio import create_task_group, sleep
from anyio.abc import TaskGroup

from supervisor.daemon.windows import Windows
from supervisor.errors import DeviceFailed
from supervisor.flow.attention import usage_counted
from supervisor.kinds import kind_of
from supervisor.model import event as ev
from supervisor.model.account import AccountSpec
from supervisor.model.attempt import Attempt, AttemptKey, Stage
from supervisor.model.job import Job, JobState
from supervisor.model.profile import Profile
from supervisor.model.share import WindowShare
from supervisor.model.state import State
from supervisor.model.usage import Usage
from supervisor.ports import Logs, SeenAgent, Sight

log = structlog.get_logger()

LOOK_SECONDS = 0.25
#: An agent that waits without a sign of activity for so long, or for half its stall time, is quiet.
WAITING_SECONDS = 10.0
#: A request for permission that is answered automatically is gone within this time.
ASKS_SECONDS = 2.0
#: A listing this soon after an answer may not show its effect yet.
ANSWERED_SECONDS = 15.0
#: Totals are journalled at most this often, and at the end.
USAGE_SECONDS = 5.0
#: File times are coarse: activity is new if it is later than the last by more than this.
STIRRED_SECONDS = 0.5


class Attention:
    def __init__(
        self, *, state: Callable[[], State], tell: Callable[[ev.Event], None], clock: Callable[[], float], logs: Logs
    ) -> None:
        self._state, self._tell, self._clock, self._logs = state, tell, clock, logs
        self._windows = Windows(tell)
        #: the last listing of each agent, and when it was requested
        self._seen: dict[AttemptKey, SeenAgent] = {}
        self._listed_at: dict[AttemptKey, float] = {}
        self._told_usage_at: dict[AttemptKey, float] = {}
        self._asks_since: dict[AttemptKey, float] = {}
        #: activity that is known from elsewhere, such as an agent's host; and the agents whose host is being asked
        self._said: dict[AttemptKey, float] = {}
        self._asking: set[AttemptKey] = set()
        self._known_batches: set[str] = set()
        self._known_accounts: tuple[AccountSpec, ...] = ()
        self._tasks: TaskGroup

    def heard(self, attempt: Attempt, seen: SeenAgent, asked_at: float) -> None:
        """Note what mngr lists of a live agent."""
        self._seen[attempt.key], self._listed_at[attempt.key] = seen, asked_at

    async def run(self) -> None:
        async with create_task_group() as self._tasks:
            while True:
                self.look()
                await sleep(LOOK_SECONDS)

    def look(self) -> None:
        state = self._state()
        for name in [name for name in state.batches if name not in self._known_batches]:
            profile = state.batches[name].profile
            self._logs.learn(profile.env)
            self._logs.learn(profile.integrator_env)
        self._known_batches = set(state.batches)
        if state.configured_accounts is not self._known_accounts:
            self._known_accounts = state.configured_accounts
            for account in state.configured_accounts:
                self._logs.learn(account.env)
        self._logs.watch(state.attempts)
        heard: list[tuple[str, WindowShare]] = []
        for attempt in state.attempts.values():
            sight = self._logs.sight(attempt.key)
            if attempt.stage is Stage.LAUNCHING:
                # An agent may take a while to read its first message: its silence counts from the end of its launch.
                self._said[attempt.key] = self._clock()
                continue
            if sight is None:
                continue
            batch = state.batches[attempt.key.batch]
            self._count(attempt, sight.usage)
            heard += [(attempt.account, each) for each in sight.windows]
            if attempt.stage is Stage.LIVE:
                self._judge(attempt, batch.job(attempt.key.job), batch.profile, sight)
        self._windows.look(state, heard, self._clock())
        for kept in (self._seen, self._listed_at, self._told_usage_at, self._asks_since, self._said):
            for key in [key for key in kept if key not in state.attempts]:
                del kept[key]

    def _count(self, attempt: Attempt, usage: Usage) -> None:
        now = self._clock()
        if usage != attempt.usage and now - self._told_usage_at.get(attempt.key, 0.0) >= USAGE_SECONDS:
            self._told_usage_at[attempt.key] = now
            self._tell(usage_counted(now, attempt.key, usage))

    def _judge(self, attempt: Attempt, job: Job, profile: Profile, sight: Sight) -> None:
        key, now = attempt.key, self._clock()
        if self._asks(attempt, sight, now) is not (job.state is JobState.PARKED):
            self._said[key] = now  # an agent needs time to react to an answer
            asked = ev.JobParked(now, *key, question="its agent asks for permission")
            self._tell(ev.JobUnparked(now, *key) if job.state is JobState.PARKED else asked)
            return
        if sight.problem != job.setbacks.hindrance or (sight.problem and sight.refused_at > job.setbacks.hindered_at):
            self._tell(_hindered(attempt, sight, now))
        if job.state is JobState.RUNNING:
            self._listen(attempt, profile, sight, now)

    def _asks(self, attempt: Attempt, sight: Sight, now: float) -> bool:
        asks = sight.asks if sight.asks is not None else self._is_blocked(attempt)
        if not asks:
            self._asks_since.pop(attempt.key, None)
            return False
        return now - self._asks_since.setdefault(attempt.key, now) >= ASKS_SECONDS

    def _is_blocked(self, attempt: Attempt) -> bool:
        """Whether mngr lists it as blocked, unless it was answered since."""
        seen, listed_at = self._seen.get(attempt.key), self._listed_at.get(attempt.key, 0.0)
        is_since = attempt.nudged_at is None or listed_at > attempt.nudged_at + ANSWERED_SECONDS
        return seen is not None and seen.state == "blocked" and is_since

    def _listen(self, attempt: Attempt, profile: Profile, sight: Sight, now: float) -> None:
        """Cases: a quiet agent stirs, or shows now that it waits; another one has been quiet long enough."""
        key, seen = attempt.key, self._seen.get(attempt.key)
        active_at = max(sight.active_at or attempt.started_at, self._said.get(key, 0.0))
        waits = sight.waits if sight.waits is not None else seen is not None and seen.state == "waiting"
        waits = waits and profile.is_talked_to
        if attempt.quiet_since is not None and active_at > attempt.quiet_since + STIRRED_SECONDS:
            self._tell(ev.AgentStirred(now, *key))
            return
        if attempt.quiet_since is not None and attempt.waits >= waits:
            return
        stall = profile.stall_timeout_seconds
        if now - active_at < (min(WAITING_SECONDS, stall / 2) if waits else stall):
            return
        if attempt.provider == "local":
            unheard = waits and sight.heard is False and kind_of(profile.agent).transcript is not None
            self._tell(ev.AgentFellQuiet(now, *key, since=active_at, waits=waits, unheard=unheard))
        elif key not in self._asking:
            self._asking.add(key)
            self._tasks.start_soon(self._ask_host, attempt, active_at, waits)

    async def _ask_host(self, attempt: Attempt, active_at: float, waits: bool) -> None:
        key = attempt.key
        try:
            said = await self._logs.active_at(attempt)
        except DeviceFailed as failed:
            log.info("can't ask a host about its agent", attempt=str(key), why=failed.message)
            return
        finally:
            self._asking.discard(key)
        if said is not None and said > active_at + STIRRED_SECONDS:
            self._said[key] = said
        else:
            self._tell(ev.AgentFellQuiet(self._clock(), *key, since=active_at, waits=waits))


def _hindered(attempt: Attempt, sight: Sight, now: float) -> ev.AgentHindered:
    return ev.AgentHindered(
        now,
        *attempt.key,
        problem=sight.problem,
        detail=sight.detail,
        until=sight.until,
        since=sight.refused_at,
        account=attempt.account,
        model=sight.model,
    )
