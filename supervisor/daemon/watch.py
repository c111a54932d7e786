"""Turns what agents do into events: published, vanished, or found again after a restart.

Theory of operation. Five sources, from the fastest to the most reliable:

- the file system, for local agents: a publication is a file that appears atomically under its final name;
- signs of life, for local agents: one query of the tmux server shows which agents have lost their program;
- other hosts: each is asked what is new there, and answers when something is (`hosts`);
- `mngr observe`, where it is enabled: a hint that something changed at a provider;
- `mngr list`, per provider, at intervals and whenever one of the above is suspicious: it decides. mngr looks at
  every agent for it, so it is rare where all hosts answer.

Only a listing without problems proves that an agent is gone; a provider that does not answer makes its agents
unknown. Providers are asked concurrently and no agent waits for another. After a restart the first listing also
shows what became of launches that the previous daemon had under way.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import structlog
from anyio import Event, create_task_group, current_time, move_on_after, sleep

from supervisor.daemon.hosts import Hosts
from supervisor.daemon.strays import Strays, attempt_of
from supervisor.errors import DeviceFailed, MngrFailed
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, AttemptKey, Stage
from supervisor.model.state import State
from supervisor.ports import Agents, Collector, Listing, LocalSigns, SeenAgent

log = structlog.get_logger()

#: A provider whose hosts all answer is listed this many times less often.
SELDOM = 10

_OVER = frozenset({"done", "stopped"})


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often each source is looked at, in seconds."""

    files: float = 0.1
    signs: float = 0.5
    listing: float = 30.0
    #: the shortest interval between two listings, however much is suspicious
    listing_at_most: float = 1.0


@dataclass(slots=True)
class Suspicion:
    """Whether a provider must be listed soon."""

    wanted: Event = field(default_factory=Event)
    #: the last listing was complete, and no stray agent is left
    settled: bool = False


class Watch:
    def __init__(
        self,
        *,
        state: Callable[[], State],
        tell: Callable[[ev.Event], None],
        clock: Callable[[], float],
        agents: Agents,
        collector: Collector,
        signs: LocalSigns,
        strays: Strays,
        launching: set[AttemptKey],
        rhythm: Rhythm,
        heard: Callable[[Attempt, SeenAgent, float], None] = lambda attempt, seen, asked_at: None,
    ) -> None:
        self._state, self._tell, self._clock = state, tell, clock
        self._agents, self._collector, self._signs = agents, collector, signs
        self.strays = strays
        #: attempts that this daemon is launching right now
        self._launching = launching
        self._rhythm, self._heard = rhythm, heard
        self.hosts = Hosts(live=self._live, collector=collector, published=self._published, suspect=self.suspect)
        self._providers: dict[str, Suspicion] = {}
        #: publications that were told and are not journalled yet
        self._told: set[AttemptKey] = set()
        #: the number of completed rounds, for the systemd watchdog
        self.rounds = 0
        #: providers that did not answer last time, with the error
        self.problems: dict[str, str] = {}
        self._doubtful: set[str] = set()
        #: how many known agents each provider had in its last listing
        self._counted: dict[str, int] = {}

    def _live(self, provider: str | None = None) -> list[Attempt]:
        attempts = self._state().attempts.values()
        return [a for a in attempts if a.stage is Stage.LIVE and provider in (None, a.provider)]

    # --- the file system

    async def files(self) -> None:
        while True:
            live = [attempt for attempt in self._live("local") if attempt.key not in self._told]
            self._published(await self._collector.published(live))
            self._told &= set(self._state().attempts)
            await sleep(self._rhythm.files)

    def _published(self, keys: Iterable[AttemptKey]) -> None:
        for key in set(keys) - self._told:
            self._told.add(key)
            self._tell(ev.WorkPublished(self._clock(), *key))

    # --- signs of life

    async def signs(self) -> None:
        while True:
            await sleep(self._rhythm.signs)
            live = {a.agent_id: a for a in self._live("local") if a.key not in self._told}
            if live and (missing := await self._signs.missing(live.keys())):
                # Most have just published, and ended for that reason: only the others need a listing.
                self._published(await self._collector.published([live[agent_id] for agent_id in missing]))
                if any(live[agent_id].key not in self._told for agent_id in missing):
                    self.suspect("local")

    # --- hints

    async def hints(self) -> None:
        async for seen in self._agents.observe():
            if seen.state in _OVER and any(seen.address.agent_id == a.agent_id for a in self._live()):
                self.suspect(seen.address.provider)

    def suspect(self, provider: str) -> None:
        if provider in self._providers:
            self._providers[provider].wanted.set()

    # --- the judge

    async def listings(self) -> None:
        """Run a loop for each provider that is, or was, configured or has agents."""
        self._providers.clear()
        async with create_task_group() as loops:
            while True:
                state = self._state()
                wanted = {pool.provider for pool in state.pools.values()}
                wanted |= {attempt.provider for attempt in state.attempts.values()}
                for provider in wanted - set(self._providers):
                    self._providers[provider] = Suspicion()
                    loops.start_soon(self._listing, provider, self._providers[provider])
                await sleep(1.0)

    async def _listing(self, provider: str, suspicion: Suspicion) -> None:
        while True:
            suspicion.wanted = Event()
            if not suspicion.settled or any(a.provider == provider for a in self._state().attempts.values()):
                suspicion.settled = await self.reconcile(provider)
            self.rounds += 1
            await self._until_next(provider, suspicion)

    async def _until_next(self, provider: str, suspicion: Suspicion) -> None:
        """Wait for the next listing. Each look computes the interval again: a host may fall silent meanwhile."""
        listed, look = current_time(), self._rhythm.listing_at_most
        await sleep(look)
        while not suspicion.wanted.is_set():
            seldom = SELDOM if suspicion.settled and self.hosts.answer_for(provider) else 1
            left = listed + self._rhythm.listing * seldom - current_time()
            if left <= 0:
                break
            self.rounds += 1
            with move_on_after(min(left, look)):
                await suspicion.wanted.wait()

    async def reconcile(self, provider: str) -> bool:
        """Compare mngr's listing of a provider with the state. True if it was complete and no stray is left."""
        # A listing can only judge attempts that were known, and not being launched, before it was requested.
        before = {a.agent_id: a for a in self._state().attempts.values() if a.provider == provider}
        busy = {a.agent_id for a in before.values() if a.key in self._launching}
        asked_at = self._clock()
        try:
            listing = await self._agents.list(provider)
        except MngrFailed as failed:
            listing = Listing((), (failed.message,))
        self._note_problems(provider, listing)
        seen = {agent.address.agent_id: agent for agent in listing.agents}
        self._note_count(provider, len(before.keys() & seen.keys()))
        known = {a.agent_id: a for a in self._state().attempts.values()}
        judged = [known[agent_id] for agent_id in before.keys() & known.keys() - busy]
        for attempt in judged:
            if attempt.stage is Stage.LIVE and (agent := seen.get(attempt.agent_id)) is not None:
                self._heard(attempt, agent, asked_at)
        await self._judge(judged, seen, listing.complete)
        # An agent that was known before the listing, and is not known now, was put away meanwhile: it is no stranger.
        strangers = [seen[agent_id] for agent_id in seen.keys() - before.keys() - known.keys()]
        strangers = [each for each in strangers if (it := attempt_of(each)) is None or it.key not in self._launching]
        return await self.strays.put_away(provider, strangers, complete=listing.complete) and listing.complete

    def _note_count(self, provider: str, known: int) -> None:
        if self._counted.get(provider) != known:
            self._counted[provider] = known
            log.info("listed", provider=provider, known=known)

    def _note_problems(self, provider: str, listing: Listing) -> None:
        if listing.complete:
            self.problems.pop(provider, None)
            self._doubtful.discard(provider)
        elif provider not in self._doubtful:
            # An agent that is destroyed while mngr looks at it makes one listing incomplete: that is no problem.
            self._doubtful.add(provider)
        elif self.problems.get(provider) != listing.problems[0]:
            self.problems[provider] = listing.problems[0]
            log.warning("provider does not answer", provider=provider, why=listing.problems[0])

    async def _judge(self, attempts: Iterable[Attempt], seen: Mapping[str, SeenAgent], complete: bool) -> None:
        """Cases: a launch of the previous daemon, and a live agent that runs, has ended, or is missing."""
        hosts: dict[str, list[Attempt]] = {}
        for attempt in attempts:
            agent = seen.get(attempt.agent_id)
            if agent is not None and attempt.host_id not in ("", agent.address.host_id):
                self._tell(ev.AgentMoved(self._clock(), *attempt.key, host_id=agent.address.host_id))
            if attempt.stage is Stage.LAUNCHING:
                self._resolve(attempt, agent, complete)
            # Local agents are checked all the time. For others, one host that is down makes the listing incomplete.
            elif (
                attempt.stage is Stage.LIVE
                and attempt.key not in self._told
                and (attempt.provider != "local" or _is_gone(agent, complete))
            ):
                hosts.setdefault(attempt.host_id, []).append(attempt)
        # Hosts are asked concurrently: one that does not answer delays no other.
        async with create_task_group() as looks:
            for host in hosts.values():
                looks.start_soon(self._look, host, seen, complete)

    async def _look(self, attempts: list[Attempt], seen: Mapping[str, SeenAgent], complete: bool) -> None:
        """Check the agents of one host: one that has published has not vanished."""
        try:
            published = await self._collector.published(attempts)
        except DeviceFailed:
            return
        self._published(published)
        for attempt in attempts:
            agent = seen.get(attempt.agent_id)
            if attempt.key not in self._told and _is_gone(agent, complete):
                how = f"its program is gone ({agent.state})" if agent else "mngr does not list it any more"
                self._tell(ev.AgentVanished(self._clock(), *attempt.key, detail=how))

    def _resolve(self, attempt: Attempt, seen: SeenAgent | None, complete: bool) -> None:
        now = self._clock()
        if seen is None:
            if complete:
                self._tell(ev.LaunchFailed(now, *attempt.key, reason="interrupted", detail="no agent was made"))
        elif seen.state in _OVER:
            host_id, detail = seen.address.host_id, f"it was found {seen.state}"
            self._tell(ev.LaunchInterrupted(now, *attempt.key, host_id=host_id, detail=detail))
        else:
            self._tell(ev.LaunchSucceeded(now, *attempt.key, host_id=seen.address.host_id, adopted=True))


def _is_gone(agent: SeenAgent | None, complete: bool) -> bool:
    return complete if agent is None else agent.state in _OVER
