"""Where an agent is, when mngr says that there is none: at an address that is not its own any more, or gone.

One no-such-agent is a suspicion: mngr looks only where the address says. That an agent is gone is proved by a listing
of its whole provider without problems, and by nothing less.
"""

from collections.abc import Awaitable, Callable

from anyio import Lock, current_time

from supervisor.errors import MngrFailed
from supervisor.ports import AgentAddress, Listing

type ListAgents = Callable[[str], Awaitable[Listing]]


class Finding:
    def __init__(self, list_agents: ListAgents) -> None:
        self._list = list_agents
        #: agents that were found at another address than they are asked for
        self._moved: dict[str, AgentAddress] = {}
        self._turns: dict[str, Lock] = {}
        #: the last listing of each provider, and when it was asked for
        self._last: dict[str, tuple[float, Listing]] = {}

    def now_at(self, address: AgentAddress) -> AgentAddress:
        return self._moved.get(address.agent_id, address)

    async def surely[T](self, address: AgentAddress, act: Callable[[AgentAddress], Awaitable[T]]) -> T:
        """What `act` comes to where the agent is. When that raises no-such-agent, there is none."""
        try:
            return await act(self.now_at(address))
        except MngrFailed as failed:
            if failed.reason != "no-such-agent" or (found := await self.found(address)) is None:
                raise
        return await act(found)

    async def found(self, address: AgentAddress) -> AgentAddress | None:
        """Another address at which it is; None: it is nowhere. MngrFailed: that can't be told now."""
        listing = await self._listed(address.provider)
        found = next((a.address for a in listing.agents if a.address.agent_id == address.agent_id), None)
        if found is None and not listing.complete:
            raise MngrFailed(f"whether {address} is gone can't be told: {listing.problems[0]}", reason="provider")
        if found == self.now_at(address):
            raise MngrFailed(f"mngr lists {address}, and says that there is no such agent.", reason="provider")
        if found is None:
            self._moved.pop(address.agent_id, None)
        else:
            self._moved[address.agent_id] = found
        return found

    async def _listed(self, provider: str) -> Listing:
        """Asked for after this was: who waited for the same one shares it."""
        since = current_time()
        async with self._turns.setdefault(provider, Lock()):
            if provider not in self._last or self._last[provider][0] < since:
                began = current_time()
                self._last[provider] = began, await self._list(provider)
            return self._last[provider][1]
