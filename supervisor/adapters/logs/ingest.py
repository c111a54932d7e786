"""Reads what all agents write, in one thread: lines into their logs, tokens into their books, signs into sights.

Theory of operation. A round looks at each watched attempt. New lines of its files, and those that its follower
brought from another host, become entries; they are appended to its log, and then one transaction records how far its
files are read, where its log ends and what was counted. So after a crash every line is there once, and every message
counts once. Only an offset is kept of a file, so memory does not grow with what is read. An attempt that can't be
read or written now is opened again in the next round and delays no other.
"""

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import structlog

from supervisor.adapters.logs.books import Books, Page
from supervisor.adapters.logs.panes import Pane, Panes
from supervisor.adapters.logs.reader import ANY, STILL_SECONDS, Reader
from supervisor.adapters.logs.signs import Files
from supervisor.adapters.logs.store import LogStore
from supervisor.kinds import who_writes
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.usage import Usage
from supervisor.ports import Sight
from supervisor.transcripts.entries import Entry, Reading, text_of
from supervisor.transcripts.redact import Redactor
from supervisor.transcripts.refusals import PHRASES, Phrase
from supervisor.transcripts.tail import Mark, Piece, Source, read, sources

log = structlog.get_logger()

REMOTE, PANE = "remote", "pane"
PANES_EVERY_SECONDS, SHRINK_EVERY_SECONDS = 2.0, 60.0
LONGEST_PANE = 256 * 1024
LAST_ROUNDS = 1000

_encode = msgspec.json.Encoder().encode


class Ingest:
    def __init__(
        self, store: LogStore, books: Books, redactor: Redactor, state_dir: Callable[[str], Path], panes: Panes
    ) -> None:
        #: by what a provider's refusals are known
        self.phrases: tuple[Phrase, ...] = PHRASES
        self._store, self._books, self._redactor = store, books, redactor
        self._state_dir, self._panes = state_dir, panes
        self._lock = threading.Lock()
        self._watched: Mapping[AttemptKey, Attempt] | None = None
        self._readers: dict[AttemptKey, Reader] = {}
        self._sights: dict[AttemptKey, Sight] = {}
        #: read to their end; and what was watched in the last round
        self._finished: set[AttemptKey] = set()
        self._known: set[AttemptKey] = set(books.keys())
        #: lines that followers brought and that are not read yet
        self._brought: dict[AttemptKey, deque[bytes]] = {}
        self._shown: dict[str, Pane] = {}
        self._asking: frozenset[str] = frozenset()
        self._panes_at = self._shrunk_at = self._asked_at = 0.0

    # --- from the event loop

    def watch(self, attempts: Mapping[AttemptKey, Attempt]) -> None:
        self._watched = attempts

    def sight(self, key: AttemptKey) -> Sight | None:
        return self._sights.get(key)

    def bring(self, attempt: Attempt, line: bytes, most: int) -> bool:
        """Queue a line that a follower has read on another host; False: the queue is full for now."""
        waiting = self._brought.setdefault(attempt.key, deque())
        if len(waiting) >= most:
            return False
        waiting.append(line)
        return True

    def keeps_transcript(self, attempt: Attempt) -> bool:
        """Whether the agent keeps a transcript of its own, on this machine."""
        return who_writes(self._state_dir(attempt.agent_id)) is not None

    def is_amid_turn(self, attempt: Attempt) -> bool:
        """Whether the agent is in a turn, at whose end it writes down its usage."""
        folder = self._state_dir(attempt.agent_id)
        writer = who_writes(folder)
        return (writer[0] if writer else ANY).is_amid_turn(folder)

    # --- in the thread

    def round(self) -> bool:
        """Look at all attempts once; whether there is more to read at once."""
        watched, more = self._watched, False
        if watched is None:  # nobody has said yet which ones there are
            return False
        self._look_at_panes(watched)
        for attempt in watched.values():
            with self._lock:
                if attempt.key not in self._finished:
                    more |= self._guarded(attempt)
        with self._lock:
            self._forget(self._known - set(watched))
            self._known = set(watched)
        if time.monotonic() - self._shrunk_at > SHRINK_EVERY_SECONDS:
            self._store.shrink(watched.keys())
            self._shrunk_at = time.monotonic()
        return more

    def is_finished(self, attempt: Attempt) -> bool:
        return attempt.key in self._finished

    def keep_pane(self, attempt: Attempt) -> None:
        """Keep what the agent's screen shows, before it is stopped."""
        with self._lock:
            if attempt.provider == "local" and attempt.key not in self._finished:
                self._read_rest(attempt, last=False)
                self._safely(self._keep_pane, attempt)

    def finish(self, attempt: Attempt, *, pane: bool) -> Usage:
        """Read the rest of its output. With `pane`, or if it wrote no events, also what its pane shows."""
        key = attempt.key
        with self._lock:
            if key not in self._finished:
                self._read_rest(attempt, last=True)
                self._safely(self._complete, attempt, pane)
                self._finished.add(key)
                self._readers.pop(key, None)
            usage = self._page(key).usage
            self._sights[key] = replace(self._sights.get(key, Sight()), usage=usage)
            return usage

    def _read_rest(self, attempt: Attempt, last: bool) -> None:
        for _ in range(LAST_ROUNDS):
            if not self._guarded(attempt, last):
                break

    def _safely[*Ts](self, act: Callable[[Attempt, Reader, *Ts], None], attempt: Attempt, *more: *Ts) -> None:
        """An agent is not kept alive for its log."""
        try:
            act(attempt, self._reader(attempt.key), *more)
        except (OSError, sqlite3.Error) as error:
            log.warning("can't read the last of an agent", attempt=str(attempt.key), why=str(error))

    def _complete(self, attempt: Attempt, reader: Reader, pane: bool) -> None:
        if attempt.provider == "local":
            self._count_raw(attempt, reader)
            if pane or not reader.has_events:
                self._keep_pane(attempt, reader)

    def _guarded(self, attempt: Attempt, last: bool = False) -> bool:
        try:
            return self._look(attempt, self._reader(attempt.key), last)
        except (OSError, sqlite3.Error) as error:
            log.warning("can't read an agent's events now", attempt=str(attempt.key), why=str(error))
        except Exception:
            log.exception("bug while reading an agent's events", attempt=str(attempt.key))
        self._readers.pop(attempt.key, None)
        return False

    def _reader(self, key: AttemptKey) -> Reader:
        if (reader := self._readers.get(key)) is None:
            page = self._page(key)
            self._store.cut_back(key, page.written)
            reader = self._readers[key] = Reader(page, has_events=bool(page.marks))
        return reader

    def _page(self, key: AttemptKey) -> Page:
        return self._books.page(key) or Page(key)

    def _look(self, attempt: Attempt, reader: Reader, last: bool) -> bool:
        folder = self._state_dir(attempt.agent_id)
        is_here = attempt.provider == "local"
        if is_here:
            reader.find_writer(folder)
        found = sources(folder / "events") if is_here else []
        own = [Source(reader.own.own, reader.own.path(folder))] if reader.own is not None else []
        pieces: dict[str, Piece] = {}
        for source in [*found, *own]:  # its own is last: what the converter has written is in it by then
            mark = reader.page.marks.get(source.name, Mark())
            piece = read(source.path, mark, last=last)
            if piece.mark != mark:
                pieces[source.name] = piece
        if pieces or self._brought.get(attempt.key):
            reader.has_events = True
            self._take(attempt.key, reader, pieces)
        pane = None if reader.has_events else self._shown.get(attempt.agent_id)
        files = Files(attempt, reader.kind, folder)
        reader.active_at = max(reader.active_at, files.active_at([source.path for source in found], pane))
        has_dialog = attempt.agent_id in self._asking
        self._sights[attempt.key] = files.seen(reader.page, reader.active_at, has_dialog, reader.windows)
        return any(piece.more for piece in pieces.values())

    # --- what is new

    def _take(self, key: AttemptKey, reader: Reader, pieces: Mapping[str, Piece]) -> None:
        page, written = reader.page, bytearray()
        with self._books.saving():
            for source, piece in pieces.items():
                reading = self._reading(key, reader, source)
                if piece.note:
                    written += _encode(reading.entry("note", piece.note)) + b"\n"
                for line in piece.lines:
                    if reader.is_told_elsewhere(source):
                        if reader.own is not None and reader.own.is_counted_converted:
                            reading.count(line)
                        continue
                    for entry in reading.line(line):
                        written += _encode(entry) + b"\n"
                page.marks[source] = piece.mark
                self._count(page, reading)
            if brought := self._brought.get(key):
                written += self._from_elsewhere(page, reader, brought)
            if written:
                page.written = self._store.append(key, bytes(written))
            self._books.save(page, *pieces)

    def _from_elsewhere(self, page: Page, reader: Reader, brought: deque[bytes]) -> bytes:
        """A follower reads from the beginning whenever it is started: lines that were seen are skipped by id."""
        written, reading = bytearray(), self._reading(page.key, reader, REMOTE)
        while brought:
            line = brought.popleft()
            if self._books.is_new(page.key, f"line {_id_of(line)}"):
                reader.active_at = time.time()
                for entry in reading.line(line):
                    written += _encode(entry) + b"\n"
        self._count(page, reading)
        return bytes(written)

    def _reading(self, key: AttemptKey, reader: Reader, source: str) -> Reading:
        if source not in reader.readings:
            reader.readings[source] = reader.reading(source)(key.attempt, source, self._redactor, self.phrases)
        return reader.readings[source]

    def _count(self, page: Page, reading: Reading) -> None:
        for counted in reading.counted:
            self._books.count(page, counted)
        reading.counted.clear()
        if reading.word is not None:
            page.word, reading.word = reading.word, None

    def _count_raw(self, attempt: Attempt, reader: Reader) -> None:
        if found := reader.kind.counted(self._state_dir(attempt.agent_id)):
            with self._books.saving():
                for counted in found:
                    self._books.count(reader.page, counted)
                self._books.save(reader.page)

    def _keep_pane(self, attempt: Attempt, reader: Reader) -> None:
        if PANE in reader.page.marks:
            return
        page, reading = reader.page, self._reading(attempt.key, reader, PANE)
        text = reading.clean(self._panes.text(attempt.agent_id).strip(), LONGEST_PANE)
        at = reading.entry("note", "").at
        entries = [Entry(at, attempt.key.attempt, PANE, "pane", line, {}) for line in text.splitlines()]
        with self._books.saving():
            page.written = self._store.append(attempt.key, b"".join(_encode(entry) + b"\n" for entry in entries))
            page.marks[PANE] = Mark()
            self._books.save(page, PANE)

    # --- signs

    def _look_at_panes(self, watched: Mapping[AttemptKey, Attempt]) -> None:
        mute = any(a.provider == "local" and not self._has_events(a.key) for a in watched.values())
        if mute and time.monotonic() - self._panes_at > PANES_EVERY_SECONDS:
            self._shown, self._panes_at = self._panes.all(), time.monotonic()
        if time.monotonic() - self._asked_at > STILL_SECONDS:
            self._asking, self._asked_at = self._with_dialogs(watched), time.monotonic()

    def _with_dialogs(self, watched: Mapping[AttemptKey, Attempt]) -> frozenset[str]:
        readers = {a.agent_id: r for a in watched.values() if (r := self._readers.get(a.key)) and r.is_still()}
        ends = self._panes.last_lines(readers.keys())
        return frozenset(
            agent for agent, line in ends.items() if (dialog := readers[agent].kind.dialog) and dialog.search(line)
        )

    def _has_events(self, key: AttemptKey) -> bool:
        return key in self._readers and self._readers[key].has_events

    def _forget(self, over: Iterable[AttemptKey]) -> None:
        for key in over:
            self._readers.pop(key, None)
            self._brought.pop(key, None)
            self._sights.pop(key, None)
            self._finished.discard(key)
            self._books.forget(key)


def _id_of(line: bytes) -> str:
    with suppress(msgspec.DecodeError, RecursionError):
        told = msgspec.json.decode(line)
        if isinstance(told, dict) and (id_ := text_of(told.get("event_id"))):
            return id_[:200]
    return line.decode(errors="replace")[:200]
