"""All metrics, as the text that Prometheus reads, in the format that it asks for."""

from collections.abc import Iterator

from prometheus_client import ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from supervisor.observe.metrics.gauges import Gauges
from supervisor.observe.metrics.meters import Meters

#: the daemon's own CPU time, memory and descriptors, by the names that every exporter uses
_PROCESS = ProcessCollector(registry=None)


class _Everything(Collector):
    def __init__(self, gauges: Gauges, meters: Meters) -> None:
        self._gauges, self._meters = gauges, meters

    def collect(self) -> Iterator[Metric]:
        yield from self._gauges.collect()
        yield from self._meters.registry.collect()
        yield from _PROCESS.collect()


def expose(gauges: Gauges, meters: Meters, accept: str = "") -> tuple[bytes, str]:
    """The text and its content type, for the `Accept` header of the request."""
    encode, content_type = choose_encoder(accept)
    return encode(_Everything(gauges, meters)), content_type
