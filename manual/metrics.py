"""The metrics, as an exposition of a state in which nothing has happened names them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from immutables import Map
from prometheus_client.metrics_core import Metric

from supervisor.model.account import Account, AccountSpec
from supervisor.model.pool import Pool
from supervisor.model.state import State
from supervisor.observe.metrics.gauges import Gauges
from supervisor.observe.metrics.meters import Meters


@dataclass(frozen=True, slots=True)
class Told:
    name: str
    kind: str
    labels: tuple[str, ...]
    about: str


def all_metrics() -> Iterator[Told]:
    account = Account.new(AccountSpec("claude"))
    state = replace(State("").with_pool(Pool("local", "local", 1)), accounts=Map({account.name: account}))
    disk = {"state_bytes": 0, "free_bytes": 0}
    meters = Meters()
    for family in [*Gauges(state, 0.0, disk=disk).collect(), *meters.registry.collect()]:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield Told(name, family.type, _labels(family, meters), family.documentation)


def _labels(family: Metric, meters: Meters) -> tuple[str, ...]:
    """A metric without a sample has its labels only where it was declared."""
    if declared := meters.labels.get(family.name):
        return declared
    return tuple(label for label in (family.samples[0].labels if family.samples else {}) if label != "le")
