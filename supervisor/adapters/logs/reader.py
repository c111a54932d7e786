"""One attempt, as the thread that reads has it at hand: its page, its readings, and who writes its transcript."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.adapters.logs.books import Page
from supervisor.kinds import Kind, Transcript, who_writes
from supervisor.model.share import WindowShare
from supervisor.transcripts.entries import Reading

#: An agent that writes nothing for so long may show a dialog that it leaves no mark of.
STILL_SECONDS = 5.0
#: what is known of one whose kind can't be told
ANY = Kind("")


@dataclass(slots=True)
class Reader:
    page: Page
    readings: dict[str, Reading] = field(default_factory=dict)
    active_at: float = 0.0
    has_events: bool = False
    #: who writes, and where; None: nobody who keeps a transcript of its own, as far as that can be told
    writer: tuple[Kind, Transcript] | None = None

    def find_writer(self, folder: Path) -> None:
        self.writer = self.writer or who_writes(folder, self.page.marks)

    @property
    def kind(self) -> Kind:
        return self.writer[0] if self.writer else ANY

    @property
    def own(self) -> Transcript | None:
        return self.writer[1] if self.writer else None

    @property
    def windows(self) -> tuple[WindowShare, ...]:
        return tuple(each for reading in self.readings.values() for each in reading.windows.values())

    def is_still(self) -> bool:
        return self.kind.dialog is not None and time.time() - self.active_at > STILL_SECONDS

    def reading(self, source: str) -> type[Reading]:
        return self.own.reading if self.own is not None and source == self.own.own else Reading

    def is_told_elsewhere(self, source: str) -> bool:
        return self.own is not None and source == self.own.converted
