"""Batches requests: those that come while a call is running wait for it, and then share one call.

Half the cost of a `destroy` is the same for one agent and for twenty, and mngr ends them all at once. The first
waiter makes the call for its group; if a call hangs, a request whose group has not started stops waiting after
`PATIENCE_SECONDS`.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field

from anyio import Lock, move_on_after

from supervisor.errors import MngrFailed
from supervisor.ports import AgentAddress

type Act = Callable[[Sequence[AgentAddress]], Coroutine[None, None, None]]

#: longer than a call takes, and short beside its deadline
PATIENCE_SECONDS = 5.0


@dataclass(slots=True)
class _Group:
    """Addresses that share one call."""

    addresses: list[AgentAddress] = field(default_factory=list)
    is_done: bool = False
    failed: MngrFailed | None = None


class Together:
    """One call at a time for each provider, unless one hangs."""

    def __init__(self, act: Act, patience: float = PATIENCE_SECONDS) -> None:
        self._act, self._patience = act, patience
        self._turns: dict[str, Lock] = {}
        #: groups that still accept addresses
        self._waiting: dict[str, _Group] = {}

    async def __call__(self, addresses: Sequence[AgentAddress]) -> None:
        """Act on addresses of one provider."""
        provider = addresses[0].provider
        group = self._waiting.setdefault(provider, _Group())
        group.addresses += addresses
        turn = self._turns.setdefault(provider, Lock())
        with move_on_after(self._patience) as patience:
            await turn.acquire()
        if patience.cancelled_caught:
            if self._waiting.get(provider) is group:  # its call has not started; it goes on without these addresses
                group.addresses = [address for address in group.addresses if address not in addresses]
                return await self._act(addresses)
            await turn.acquire()
        try:
            await self._go(provider, group)
        finally:
            turn.release()
        if group.failed is not None:
            raise group.failed
        return None

    async def _go(self, provider: str, group: _Group) -> None:
        """Make the group's call, unless another waiter has made it."""
        if self._waiting.get(provider) is group:
            del self._waiting[provider]
        if group.is_done or not group.addresses:
            return
        try:
            await self._act(tuple(group.addresses))
        except MngrFailed as failed:
            group.failed = failed
        group.is_done = True
