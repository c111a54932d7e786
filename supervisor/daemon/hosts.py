"""Keeps one question open at each remote host, which answers as soon as something is new there.

Theory of operation. A host is asked for the signs of its agents (`Collector.news`), and answers when they differ from
its last answer. So a publication is collected a second or two after it was made, and mngr need not list the provider
so often: while every host answers, a listing only confirms (`Watch`). An answer is only a suspicion: collecting shows
whether an agent has published, and a listing whether it asks, waits or is gone. A host that does not answer is asked
again later, and until then its provider is listed at the usual interval.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import structlog
from anyio import CancelScope, create_task_group, current_time, sleep
from anyio.abc import TaskGroup

from supervisor.errors import DeviceFailed
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.ports import Collector, Picture, Sign

log = structlog.get_logger()

#: Each costs a call of mngr that waits. Further hosts are checked when they are listed.
MOST_FOLLOWED = 32
LOOK_SECONDS = 1.0
#: A sign may be about to change: it counts after it has stood for this long.
PATIENCE_SECONDS = 2.0
AGAIN_SECONDS, LONGEST_AGAIN_SECONDS = 5.0, 300.0

type Host = tuple[str, str]
type _Standing = tuple[str, Sign]


class Followed:
    """One host: its agents, its last answer, and the scope of the question that is open."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        self.attempts = attempts
        self.scope = CancelScope()
        self.last = Picture()
        self.is_answering = False
        #: agents that were seen at work: only these can have begun to wait
        self._stirred: set[str] = set()
        #: since when each sign has stood, and the signs that were told
        self._since: dict[_Standing, float] = {}
        self._told: set[_Standing] = set()

    def published(self) -> list[AttemptKey]:
        return [a.key for a in self.attempts if "published" in self.last.signs.get(a.agent_id, ())]

    def is_suspicious(self, now: float) -> bool:
        """Whether a sign stands that was not told yet; each is told once, until it disappears and returns."""
        seen = {a.agent_id: self.last.signs[a.agent_id] for a in self.attempts if a.agent_id in self.last.signs}
        self._stirred |= {agent for agent, signs in seen.items() if "waits" not in signs}
        standing = {(agent, sign) for agent, signs in seen.items() for sign in signs if self._is_news(agent, sign)}
        self._since = {each: self._since.get(each, now) for each in standing}
        self._told &= standing
        new = {each for each, since in self._since.items() if now - since >= PATIENCE_SECONDS} - self._told
        self._told |= new
        return bool(new)

    def _is_news(self, agent: str, sign: Sign) -> bool:
        return sign in ("asks", "gone") or (sign == "waits" and agent in self._stirred)


class Hosts:
    def __init__(
        self,
        *,
        live: Callable[[], Iterable[Attempt]],
        collector: Collector,
        published: Callable[[Iterable[AttemptKey]], None],
        suspect: Callable[[str], None],
    ) -> None:
        self._live, self._collector = live, collector
        self._published, self._suspect = published, suspect
        self._followed: dict[Host, Followed] = {}

    def answer_for(self, provider: str) -> bool:
        """Whether the provider has live agents, and all their hosts answer."""
        wanted = {_host(attempt) for attempt in self._live() if attempt.provider == provider}
        return bool(wanted) and all(host in self._followed and self._followed[host].is_answering for host in wanted)

    async def run(self) -> None:
        self._followed.clear()
        async with create_task_group() as asking:
            while True:
                self._look(asking)
                await sleep(LOOK_SECONDS)

    def _look(self, asking: TaskGroup) -> None:
        hosts: dict[Host, list[Attempt]] = defaultdict(list)
        for attempt in self._live():
            if attempt.provider != "local" and attempt.host_id:
                hosts[_host(attempt)].append(attempt)
        for host in self._followed.keys() - hosts.keys():
            self._followed.pop(host).scope.cancel()
        for host in sorted(hosts.keys() - self._followed.keys())[: MOST_FOLLOWED - len(self._followed)]:
            followed = self._followed[host] = Followed(hosts[host])
            asking.start_soon(self._follow, host, followed)
        for host, followed in self._followed.items():
            followed.attempts = hosts[host]
            self._consider(host, followed)

    def _consider(self, host: Host, followed: Followed) -> None:
        self._published(followed.published())
        if followed.is_suspicious(current_time()):
            self._suspect(host[0])

    async def _follow(self, host: Host, followed: Followed) -> None:
        again = AGAIN_SECONDS
        with followed.scope:
            while True:
                try:
                    followed.last = await self._collector.news(followed.attempts, followed.last)
                    followed.is_answering, again = True, AGAIN_SECONDS
                    self._consider(host, followed)
                    await sleep(LOOK_SECONDS)
                except DeviceFailed as failed:
                    log.info("a host does not tell what is new", host=host[1], why=failed.message)
                    if followed.is_answering:
                        followed.is_answering, followed.last = False, Picture()
                        self._suspect(host[0])
                    await sleep(again)
                    again = min(2 * again, LONGEST_AGAIN_SECONDS)


def _host(attempt: Attempt) -> Host:
    return attempt.provider, attempt.host_id
