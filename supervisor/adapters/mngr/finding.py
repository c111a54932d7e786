"""Finds an agent that mngr does not know at the given address: it is at another address, or gone.

A no-such-agent proves nothing, because mngr looks only at the given address. Only a listing of the whole provider
without problems proves that an agent is gone.
"""

from collections.abc import Awaitable, Callable

from anyio import Lock, current_time

from supervisor.errors import MngrFailed
from supervisor.ports import AgentAddress, Listing

type ListAgents = Callable[[str], Awaitable[Listing]]


class Finding:
    def __init__(self, list_agents: ListAgents) -> None:
        self._list = list_agents
        #: agents that were found at another address than the one asked for
        self._moved: dict[str, AgentAddress] = {}
        self._turns: dict[str, Lock] = {}
        #: the last listing of each provider, and when it was asked for
        self._last: dict[str, tuple[float, Listing]] = {}

    def now_at(self, address: AgentAddress) -> AgentAddress:
        return self._moved.get(address.agent_id, address)

    async def surely[T](self, address: AgentAddress, act: Callable[[AgentAddress], Awaitable[T]]) -> T:
        """The result of `act` at the agent's present address. If this raises no-such-agent, the agent is gone."""
        try:
            return await act(self.now_at(address))
        except MngrFailed as failed:
            if failed.reason != "no-such-agent" or (found := await self.found(address)) is None:
                raise
        return await act(found)

    async def found(self, address: AgentAddress) -> AgentAddress | None:
        """The agent's other address, or None if it is gone. Raises MngrFailed while neither is certain."""
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
        """A listing that was requested after this call; concurrent callers share one."""
        since = current_time()
        async with self._turns.setdefault(provider, Lock()):
            if provider not in self._last or self._last[provider][0] < since:
                began = current_time()
                self._last[provider] = began, await self._list(provider)
            return self._last[provider][1]
