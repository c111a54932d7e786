"""What `[telemetry]` asks for, as a task beside the daemon that nothing waits for."""

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import structlog

from supervisor import __version__
from supervisor.adapters.alerts.receivers import said
from supervisor.adapters.telemetry.collector import Collector
from supervisor.adapters.telemetry.export import Export, Protocols, Told
from supervisor.adapters.telemetry.extra import HINT, MISSING, is_missing
from supervisor.observe.stream import Stream
from supervisor.observe.traces.span import Span
from supervisor.ports import Journal
from supervisor.settings import Settings
from supervisor.threads import in_thread
from supervisor.transcripts.redact import Open, of_this_process

log = structlog.get_logger(__name__)

type Count = Callable[[int, str], None]


class Telemetry:
    def __init__(
        self, settings: Settings, credentials: Path | None, journal: Journal, stream: Stream, count: Count
    ) -> None:
        self._settings, self._credentials = settings, credentials
        self._journal, self._stream, self._count = journal, stream, count
        self.told = Told()

    @property
    def is_wanted(self) -> bool:
        return bool(self._settings.telemetry.endpoint)

    def data(self) -> dict[str, Any] | None:
        """None: it is not configured."""
        return self.told.data if self.is_wanted else None

    async def run(self) -> None:
        if is_missing(self._settings):
            self.told.problem = MISSING
            log.error(MISSING, hint=HINT)
        elif self.is_wanted:
            await self._export(await in_thread(self._protocols)).run()

    def _export(self, protocols: Protocols) -> Export:
        table, kept_in = self._settings.telemetry, partial(said, credentials=self._credentials)
        headers = {name: partial(kept_in, value) for name, value in table.headers.items()}
        return Export(
            Collector(partial(kept_in, table.endpoint), headers),
            protocols,
            self._journal,
            self._stream,
            self._settings.state_dir / "telemetry.json",
            time.time,
            self._count,
            self.told,
        )

    def _protocols(self) -> Protocols:
        """Imported only now, because the import takes a tenth of a second and some megabytes."""
        otlp = import_module("supervisor.adapters.telemetry.otlp")
        redactor = of_this_process(self._credentials)
        resource = {
            "service.name": "agent-supervisor",
            "service.version": __version__,
            "service.instance.id": self._journal.installation,
        }

        def request(spans: list[Span]) -> bytes:
            written: bytes = otlp.request(spans, resource, __version__, lambda text: redactor.masked(text, Open()))
            return written

        return Protocols(request, otlp.rejected)
