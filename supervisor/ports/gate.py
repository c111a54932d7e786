"""The gate between agents and their model, as the daemon uses it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from supervisor.flow.governor.allowances import Allowance
from supervisor.model.attempt import AttemptKey
from supervisor.model.price import Price
from supervisor.model.share import WindowShare


@dataclass(frozen=True, slots=True)
class Told:
    """The caps that the gate enforces."""

    #: in tokens, by batch; 0: there is no cap
    caps: Mapping[str, int]
    allowances: Sequence[Allowance] = ()
    prices: Sequence[Price] = ()


@dataclass(frozen=True, slots=True)
class Heard:
    """What the gate has seen."""

    #: batches with a request that was refused because it did not fit a cap, with the message
    batches: Mapping[str, str] = field(default_factory=dict)
    #: the same for accounts, with the time at which the refusals end
    accounts: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    #: what providers reported of windows, each with an account that the provider serves
    windows: Sequence[tuple[str, WindowShare]] = ()


class Gate(Protocol):
    async def tell(self, told: Told) -> None: ...

    async def look(self, alive: Mapping[AttemptKey, str], told: Told) -> Heard:
        """Revoke the keys of all attempts but `alive`, which has their accounts, and tell the gate its caps."""
        ...
