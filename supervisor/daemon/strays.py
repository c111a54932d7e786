"""Agents of this installation that belong to no attempt: put away once their work is safe, or left and reported.

Cases, by what their labels say:

- their batch is open, or was sealed: their work is rescued to a ref, then they are destroyed; if some of it can't be
  taken, or can't be read, they stay;
- their batch is not known, or the labels make no sense: the state is older than they are, or somebody has interfered.
  Nobody knows what repository they work on, so they are left alone, and a person is told;
- they are verifiers that this daemon does not use: put away at once, because all they have is here already;
- an older state was accepted, and nobody has resumed the queue since: all are left alone.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

import structlog

from supervisor.errors import SupervisorError
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, AttemptKey, Stage
from supervisor.model.batch import Batch
from supervisor.model.profile import Profile
from supervisor.model.state import State
from supervisor.ports import (
    ATTEMPT,
    BATCH,
    INSTALLATION,
    JOB,
    KEPT,
    VERIFIER,
    AgentAddress,
    Agents,
    Collector,
    SealedBatch,
    SeenAgent,
)

log = structlog.get_logger()


class Strays:
    def __init__(
        self,
        *,
        state: Callable[[], State],
        tell: Callable[[ev.Event], None],
        clock: Callable[[], float],
        agents: Agents,
        collector: Collector,
        sealed: Callable[[str], Awaitable[SealedBatch | None]],
        mngr: str = "mngr",
        verifiers: Collection[str] = (),
    ) -> None:
        self._state, self._tell, self._clock = state, tell, clock
        self._agents, self._collector, self._sealed = agents, collector, sealed
        #: ids of the verifiers in use; the owner changes it
        self._verifiers = verifiers
        #: how a person runs the daemon's mngr
        self._mngr = mngr
        #: agents that are left alone, by id: their provider, and the message about them
        self._left: dict[str, tuple[str, str]] = {}

    @property
    def left_alone(self) -> Mapping[str, str]:
        """The message for a person about each of them, by the agent's id."""
        return {agent_id: message for agent_id, (_, message) in self._left.items()}

    async def put_away(self, provider: str, strangers: Iterable[SeenAgent], *, complete: bool) -> bool:
        """Put away the strays that a provider lists. True if nothing is left to do about any of them."""
        ours = [agent for agent in strangers if self._is_ours(agent)]
        listed = {agent.address.agent_id for agent in ours}
        if complete:
            self._left = {key: left for key, left in self._left.items() if left[0] != provider or key in listed}
        return all([await self._put_away(agent) for agent in ours])

    def _is_ours(self, agent: SeenAgent) -> bool:
        """Whether this installation made it, by its label, and it is not kept for a person to look at."""
        return agent.labels.get(INSTALLATION) == self._state().installation and KEPT not in agent.labels

    async def _put_away(self, agent: SeenAgent) -> bool:
        attempt = attempt_of(agent)
        try:
            if attempt is None and VERIFIER in agent.labels:
                return await self._put_verifier_away(agent)
            if attempt is None:
                return self._leave(agent, "its labels do not say what it works on")
            if (batch := await self._batch(attempt.key.batch)) is None:
                return self._leave(agent, f"its batch {attempt.key.batch} is not known here")
            if self._state().is_older:
                return self._leave(agent, "an older state was accepted, and nobody has resumed the queue since")
            work = await self._collector.rescue(batch, attempt)
            if work.unsaved:
                return self._leave(agent, f"not all of its work could be rescued: {work.unsaved}")
            await self._agents.destroy([AgentAddress.of(attempt)])
        except SupervisorError as failed:
            return self._leave(agent, f"its work can't be rescued: {failed.message}")
        self._left.pop(agent.address.agent_id, None)
        self._tell(ev.OrphanDestroyed(self._clock(), agent_id=agent.address.agent_id, agent_name=agent.name))
        return True

    async def _put_verifier_away(self, agent: SeenAgent) -> bool:
        if agent.address.agent_id not in self._verifiers:
            await self._agents.destroy([agent.address])
            log.info("put a verifier away", agent=agent.name)
        return True

    def _leave(self, agent: SeenAgent, why: str) -> bool:
        advice = self._advice(agent)
        message = f"the agent {agent.name} is left alone: {why}; {advice}"
        if self._left.get(agent.address.agent_id, ("", ""))[1] != message:
            log.warning("leave a stray agent alone", agent=agent.name, why=why, hint=advice)
        self._left[agent.address.agent_id] = agent.address.provider, message
        return False

    def _advice(self, agent: SeenAgent) -> str:
        """Commands with its address: its name was chosen by whoever made it."""
        look = f"`{self._mngr} exec {agent.address} 'git log --oneline -5; git status --short'` shows its work"
        return f"{look}, `{self._mngr} destroy --force {agent.address}` ends it with all it has"

    async def _batch(self, batch_id: str) -> Batch | None:
        """The batch; of a sealed one, only what a rescue needs."""
        if (batch := self._state().batches.get(batch_id)) is not None:
            return batch
        if (sealed := await self._sealed(batch_id)) is None:
            return None
        known = json.loads(sealed.status)["batch"]
        return Batch(batch_id, 0, known["repo"], known["base"], (), Profile(), sealed.created_at)


def attempt_of(agent: SeenAgent) -> Attempt | None:
    labels = agent.labels
    try:
        key = AttemptKey(labels[BATCH], int(labels[JOB]), int(labels[ATTEMPT]))
    except (KeyError, ValueError):
        return None
    return Attempt(
        key=key,
        agent_id=agent.address.agent_id,
        agent_name=agent.name,
        pool="",
        provider=agent.address.provider,
        host=agent.host_name,
        new_host=False,
        started_at=0.0,
        stage=Stage.RELEASING,
        host_id=agent.address.host_id,
    )
