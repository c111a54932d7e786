"""What comes while a call is under way waits for it, and then goes as one call.

Half of what a `destroy` costs is the same for one agent and for twenty, and mngr ends them all at once. The first
that waits does it for all; where a call hangs, nobody waits for longer than a moment.
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
    """Who goes together."""

    addresses: list[AgentAddress] = field(default_factory=list)
    is_done: bool = False
    failed: MngrFailed | None = None


class Together:
    """One call at a time for each provider, as long as they end."""

    def __init__(self, act: Act, patience: float = PATIENCE_SECONDS) -> None:
        self._act, self._patience = act, patience
        self._turns: dict[str, Lock] = {}
        #: groups that still take others
        self._waiting: dict[str, _Group] = {}

    async def __call__(self, addresses: Sequence[AgentAddress]) -> None:
        """All of one provider."""
        provider = addresses[0].provider
        group = self._waiting.setdefault(provider, _Group())
        group.addresses += addresses
        turn = self._turns.setdefault(provider, Lock())
        with move_on_after(self._patience) as patience:
            await turn.acquire()
        if patience.cancelled_caught:
            if self._waiting.get(provider) is group:  # it has not begun, and goes on without
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
        """Unless another of the group has done so already."""
        if self._waiting.get(provider) is group:
            del self._waiting[provider]
        if group.is_done or not group.addresses:
            return
        try:
            await self._act(tuple(group.addresses))
        except MngrFailed as failed:
            group.failed = failed
        group.is_done = True
