"""The course of one batch of a drill, as events tell it: what it has reached, or why it won't get further."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from supervisor.control.client import Client
from supervisor.errors import SupervisorError

#: the stations of a life, with the event that each ends with
STATIONS: Mapping[str, str] = {
    "launch": "launch-succeeded",
    "work and publish": "work-published",
    "collect": "work-collected",
    "verify": "work-verified",
    "branch": "batch-finished",
    "put away": "batch-sealed",
}
#: Two failures are no accident.
MOST_FAILED_LAUNCHES = 2
#: a launch that we interrupted ourselves
_OURS = frozenset({"killed", "interrupted"})

type Row = Mapping[str, Any]


@dataclass(slots=True)
class Course:
    pool: str
    batch: str
    #: how long it may take, from now on
    seconds: float
    #: with a verification
    is_judged: bool = True
    events: list[Row] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def job(self) -> str:
        return f"{self.batch}.1"

    def read(self, client: Client) -> None:
        after = int(self.events[-1]["seq"]) if self.events else 0
        self.events += client.get("/v1/events", batch=self.batch, after=after)["rows"]

    def has(self, kind: str) -> bool:
        return bool(self.of(kind))

    def of(self, kind: str) -> list[Row]:
        return [event for event in self.events if event["kind"] == kind]

    @property
    def is_over(self) -> bool:
        return self.has("batch-sealed")

    @property
    def stations(self) -> list[str]:
        return [name for name in STATIONS if self.is_judged or name != "verify"]

    def reached(self) -> Iterator[tuple[str, float]]:
        """The stations that it has passed, each with the seconds since the one before."""
        before = _at(self.events[0]) if self.events else 0.0
        for name in self.stations:
            if not (found := self.of(STATIONS[name])):
                return
            yield name, max(0.0, _at(found[-1]) - before)
            before = _at(found[-1])

    @property
    def waits_at(self) -> str:
        passed = len(list(self.reached()))
        return self.stations[min(passed, len(self.stations) - 1)]

    def trouble(self, client: Client) -> str:
        """Why it won't get further; "": it may. Cases: no launch; a job that ended badly; its time is over."""
        failed = [event for event in self.of("launch-failed") if event["reason"] not in _OURS]
        if len(failed) >= MOST_FAILED_LAUNCHES:
            return f"mngr starts no agent there: {failed[-1]['detail'] or failed[-1]['reason']}"
        if any(event["outcome"] != "improved" for event in self.of("job-ended")):
            return self._came_to(client)
        if not self.is_over and time.monotonic() - self.began > self.seconds:
            return f"not done within {self.seconds:.0f} s: {_why(client, self.job)}"
        return ""

    def _came_to(self, client: Client) -> str:
        ended = self.of("job-ended")[-1]
        said = [str(event.get("detail") or event.get("reason") or "") for event in self.events if _tells(event)]
        return f"its job ended as {ended['outcome']}: {(said or [_why(client, self.job)])[-1]}"


def _tells(event: Row) -> bool:
    kinds = ("work-verified", "publication-refused", "agent-vanished", "collect-failed", "launch-failed")
    return event["kind"] in kinds and bool(event.get("detail") or event.get("reason"))


def _why(client: Client, job: str) -> str:
    try:
        return str(client.get(f"/v1/why/{job}")["why"])
    except SupervisorError as error:
        return error.message


def _at(event: Row) -> float:
    return datetime.fromisoformat(str(event["at"])).timestamp()
