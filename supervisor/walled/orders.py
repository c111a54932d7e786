"""Orders for agents with walls: mngr starts our keeper, and below it the agent.

Whether this machine can build them is tried before any agent is paid for. An agent whose walls can't be built when it
starts does not start; its pane says why.
"""

import json
import shlex
import sys
from dataclasses import asdict, replace
from pathlib import Path

import structlog

from supervisor.adapters.layout import Layout
from supervisor.errors import Misconfigured
from supervisor.kinds import Kind, kind_of, unwalled
from supervisor.model.attempt import Attempt
from supervisor.model.batch import Batch
from supervisor.model.profile import Profile
from supervisor.ports import WALLS, AgentOrder, Orders
from supervisor.verification.trials.running import walls_lack
from supervisor.verification.walls.sandbox import limits_of, named
from supervisor.verification.walls.walls import own_places
from supervisor.walled.confining import confining_lacks
from supervisor.walled.enclose import ASKED, Asked

#: `-I`: nothing of the agent's clone is imported
KEEPER = (sys.executable, "-I", "-m", "supervisor.walled.enclose")
#: copies a person's git identity from the HOME of agents, which they can't see
_IDENTITY = tuple(
    f'value=$(git config {key}) && git config {key} "$value" || true' for key in ("user.name", "user.email")
)

log = structlog.get_logger()


async def agent_walls_lack() -> str:
    """Why no agent of this machine can have walls, found out once; "" if they can."""
    if not _lacking:
        _lacking.append(confining_lacks() or await walls_lack())
    return _lacking[0]


_lacking: list[str] = []


class WalledOrders:
    def __init__(self, orders: Orders, layout: Layout) -> None:
        self._orders, self._layout = orders, layout

    def order(self, batch: Batch, attempt: Attempt) -> AgentOrder:
        """Raises Misconfigured if its profile requires walls that it can't have."""
        order, profile = self._orders.order(batch, attempt), batch.profile
        if profile.agent_walls == "off" or attempt.provider != "local":
            return order
        if lacks := unwalled(profile) or next(filter(None, _lacking), ""):
            if profile.agent_walls == "require":
                raise Misconfigured(f"profile {profile.name} requires walls around agents: {lacks}")
            log.warning("an agent has no walls", agent=attempt.agent_name, why=lacks)
            return order
        return self._walled(order, batch, attempt)

    def _walled(self, order: AgentOrder, batch: Batch, attempt: Attempt) -> AgentOrder:
        kind = kind_of(batch.profile.agent)
        enclosed = kind.walled(order, KEEPER)
        page = self._layout.attempt(attempt.key) / ASKED
        page.write_text(json.dumps(asdict(self._asked(batch, kind))))
        return replace(
            enclosed,
            env={**order.env, WALLS: shlex.join(KEEPER)},
            files={**order.files, ASKED: page},
            provision=(*_IDENTITY, *(_within(each, batch.profile) for each in enclosed.provision)),
        )

    def _asked(self, batch: Batch, kind: Kind) -> Asked:
        profile = batch.profile
        private = (*own_places(self._layout.state_dir), Path(batch.repo))
        limits = limits_of(profile)
        return Asked(
            private=[str(each) for each in private],
            named=[str(each) for each in (*named(profile), *kind.reads)],
            read=list(profile.sandbox_read),
            write=list(profile.sandbox_write),
            repo=batch.repo,
            login=kind.login.file if kind.login else "",
            programs=[*profile.pytest[:1], *([kind.executable] if kind.executable else [])],
            memory=limits.memory,
            processes=limits.processes,
        )


def _within(command: str, profile: Profile) -> str:
    """Run a setup inside the walls, because the agent must find what it leaves in HOME."""
    return shlex.join((*KEEPER, "sh", "-c", command)) if command == profile.setup else command
