"""Whether what `[telemetry]` needs is installed."""

from importlib.util import find_spec

from supervisor.settings import Settings

MISSING = "[telemetry] has an endpoint, but no trace can be told: the extra `otel` is not installed"
HINT = (
    "install agent-supervisor[otel], as by `uv tool install --force '.[otel]'` or `EXTRAS=otel make install`, "
    "and restart the daemon"
)


#: what is imported of it, and of what it needs itself
_MODULES = ("opentelemetry.proto.collector.trace.v1.trace_service_pb2", "google.protobuf")


def is_missing(settings: Settings) -> bool:
    return bool(settings.telemetry.endpoint) and not _is_installed()


def _is_installed() -> bool:
    try:
        return all(find_spec(module) is not None for module in _MODULES)
    except ModuleNotFoundError:  # of a package that it is in
        return False
