"""Reads the recordings that are kept of a job. No secret leaves here: each may have come past the masks of the test
framework. Blocking.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from supervisor.adapters.layout import Layout
from supervisor.adapters.recordings.checking import Event, written
from supervisor.adapters.recordings.keeping import AGENT, BASE, RUN, Recording, index_of, is_of
from supervisor.model.attempt import AttemptKey
from supervisor.model.node import file_of
from supervisor.transcripts.redact import Open, Redactor

PLACE = re.compile(r"base|agent|run-[1-9][0-9]{0,2}")


@dataclass(frozen=True, slots=True)
class Shown:
    """A recording, and what it is of: `base`, `run-1`, `agent`."""

    of: str
    recording: Recording

    @property
    def words(self) -> str:
        return self.of.replace("-", " ")


class KeptRecordings:
    def __init__(self, layout: Layout, redactor: Redactor) -> None:
        self._layout, self._redactor = layout, redactor

    def all(self, key: AttemptKey, test: str) -> list[Shown]:
        """Of the base, of the runs of its verification in their order, and of its agent."""
        return [Shown(of, self._named(each)) for of in self._places(key) for each in self._of(key, test, of)]

    def content(self, key: AttemptKey, test: str, of: str, number: int) -> bytes | None:
        """An asciicast; None: it is not kept, or not any more."""
        if not PLACE.fullmatch(of) or not any(each.number == number for each in self._of(key, test, of)):
            return None
        try:
            return self._masked((self._folder(key, test, of) / str(number)).read_bytes())
        except (OSError, ValueError, msgspec.MsgspecError):
            return None

    def _places(self, key: AttemptKey) -> list[str]:
        runs = [each.name for each in self._layout.recordings(key).glob(f"{RUN}*") if PLACE.fullmatch(each.name)]
        return [BASE, *sorted(runs, key=lambda name: int(name.removeprefix(RUN))), AGENT]

    def _of(self, key: AttemptKey, test: str, of: str) -> Iterator[Recording]:
        return (each for each in index_of(self._folder(key, test, of)) if is_of(each.test, [test]))

    def _folder(self, key: AttemptKey, test: str, of: str) -> Path:
        """At the base, the one of the last survey that has any."""
        if of != BASE:
            return self._layout.recordings(key) / of
        surveys = (self._layout.batch(key.batch) / "base").glob("*")
        rounds = sorted((int(each.name) for each in surveys if each.name.isdecimal()), reverse=True)
        kept = [self._layout.recorded_at_base(key.batch, each, file_of(test)) for each in rounds or [0]]
        return next((each for each in kept if each.is_dir()), kept[0])

    # --- without secrets

    def _named(self, recording: Recording) -> Recording:
        return replace(recording, name=self._text(recording.name), title=self._text(recording.title))

    def _masked(self, data: bytes) -> bytes:
        """A secret may span events of the output."""
        first, *rest = data.strip(b"\n").split(b"\n")
        head = msgspec.json.decode(first, type=_Head)
        printed, events = Open(), list[Event]()
        for at, code, text in (msgspec.json.decode(each, type=Event) for each in rest):
            events.append((at, code, self._redactor.masked(text, printed if code == "o" else Open())))
        return written((head.width, head.height), self._text(head.title), head.timestamp, events)

    def _text(self, text: str) -> str:
        return self._redactor.masked(text, Open())


class _Head(msgspec.Struct):
    width: int
    height: int
    timestamp: float
    title: str
