"""The gate between agents and their model, as the daemon has it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from supervisor.flow.governor.allowances import Allowance
from supervisor.model.attempt import AttemptKey
from supervisor.model.price import Price
from supervisor.model.share import WindowShare


@dataclass(frozen=True, slots=True)
class Told:
    """What the gate holds to."""

    #: in tokens, by batch; 0: there is no cap
    caps: Mapping[str, int]
    allowances: Sequence[Allowance] = ()
    prices: Sequence[Price] = ()


@dataclass(frozen=True, slots=True)
class Heard:
    """What the gate has seen."""

    #: batches of which a request was refused because it did not fit, with what to say of it
    batches: Mapping[str, str] = field(default_factory=dict)
    #: the same of accounts, and until when
    accounts: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    #: what providers told of windows, each with an account that is served by that provider
    windows: Sequence[tuple[str, WindowShare]] = ()


class Gate(Protocol):
    async def tell(self, told: Told) -> None: ...

    async def look(self, alive: Mapping[AttemptKey, str], told: Told) -> Heard:
        """End the keys of all other attempts, and tell the gate. `alive`: with their accounts."""
        ...
