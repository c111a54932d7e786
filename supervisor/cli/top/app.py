"""The screen of `top`: two tables, a pane for `why` and logs, and keys.

Theory of operation. A thread asks the API every second or two and hands what came to the screen, so that a daemon
that is slow, or away, holds up no key. The tables are changed cell by cell: what does not change is not drawn again,
which is what an ssh connection and the processor notice. All text of agents is shown as text, never as markup.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import DataTable, Footer, Input, RichLog, Static

from supervisor.cli import logs, printing
from supervisor.cli.top import sights, steering
from supervisor.cli.top.tail import Tail
from supervisor.control.client import Client, quoted
from supervisor.errors import SupervisorError

EVERY_SECONDS, LOG_SECONDS = 2.0, 1.0
#: lines of a log that are kept on the screen
LOG_LINES = 1000

type Table = DataTable[Text]


class Top(App[None]):
    CSS = """
    #head, #said { height: 1; padding: 0 1; }
    #head { background: $primary-darken-2; color: $text; }
    #batches { height: auto; max-height: 30%; }
    #jobs { height: 1fr; }
    #pane { height: 35%; display: none; border-top: solid $primary; padding: 0 1; }
    #log { height: 35%; display: none; border-top: solid $primary; }
    #asked { display: none; height: 3; }
    .shown { display: block !important; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "why", "why"),
        Binding("l", "log", "log"),
        Binding("e", "ended", "ended"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("p", "pause", "pause"),
        Binding("c", "cancel", "cancel"),
        Binding("r", "retry", "retry"),
        Binding("s", "slots", "slots"),
        Binding("q", "quit", "quit"),
        Binding("escape", "close", "close", show=False),
    ]

    def __init__(self, client: Client, batch: str = "") -> None:
        super().__init__()
        self._client, self._batch = client, batch
        self._words, self._ended = "", False
        self._status: dict[str, Any] = {}
        self._rows: dict[str, Any] = {"rows": [], "as_of": ""}
        self._subject = ""
        self._tail: Tail | None = None
        #: what is being asked of the daemon, and need not be asked a second time
        self._busy: set[str] = set()
        self._purpose: Callable[[str], None] = lambda text: None

    def compose(self) -> ComposeResult:
        yield Static("looking …", id="head", markup=False)
        yield DataTable(id="batches", cursor_type="row")
        yield DataTable(id="jobs", cursor_type="row")
        yield VerticalScroll(Static("", id="why", markup=False), id="pane")
        yield RichLog(id="log", max_lines=LOG_LINES, wrap=True, markup=False, highlight=False)
        yield Input(id="asked", select_on_focus=False)
        yield Static("", id="said", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        for name, columns in (("#batches", sights.BATCH_COLUMNS), ("#jobs", sights.JOB_COLUMNS)):
            for column in columns:
                self._table(name).add_column(column, key=column)
        self._table("#jobs").focus()
        self.look()
        self.set_interval(EVERY_SECONDS, self.look)
        self.set_interval(LOG_SECONDS, self.follow)

    def _table(self, name: str) -> Table:
        table: Table = self.query_one(name, DataTable)
        return table

    # --- what is seen

    def look(self) -> None:
        """Unless the last look still waits for its answer: where all is slow, one after the other comes through."""
        if "look" not in self._busy:
            self._busy.add("look")
            self._look()

    @work(thread=True, group="look")
    def _look(self) -> None:
        try:
            status = self._client.get("/v1/status")
            rows = self._client.get("/v1/at-work", batch=self._batch, ended="true" if self._ended else None)
            self.call_from_thread(self._seen, status, rows)
        except SupervisorError as away:
            self.call_from_thread(self._head, f"{away.message}; looking again …")
        finally:
            self._busy.discard("look")

    def _head(self, text: str) -> None:
        self.query_one("#head", Static).update(printing.clean(text))

    def _seen(self, status: dict[str, Any], rows: dict[str, Any]) -> None:
        self._status, self._rows = status, rows
        self._show()

    def _show(self) -> None:
        if not self._status:
            return
        self._head(sights.headline(self._status))
        fill(self._table("#batches"), sights.BATCH_COLUMNS, sights.batches(self._status, self._batch))
        found = sights.jobs(self._rows["rows"], self._rows["as_of"], self._words)
        fill(self._table("#jobs"), sights.JOB_COLUMNS, found)

    def _selected(self) -> str:
        """The job or batch that the cursor is on, in the table that has the keys; "": none."""
        focused = self.focused if isinstance(self.focused, DataTable) else self._table("#jobs")
        if not focused.is_valid_coordinate(focused.cursor_coordinate):
            return ""
        return str(focused.coordinate_to_cell_key(focused.cursor_coordinate).row_key.value)

    def say(self, text: str) -> None:
        self.query_one("#said", Static).update(printing.clean(text))

    # --- keys that look

    def action_why(self) -> None:
        if subject := self._selected():
            self._open("#pane")
            self._subject = subject
            self._ask_why(subject)

    @work(thread=True, group="why")
    def _ask_why(self, subject: str) -> None:
        try:
            text = str(self._client.get(f"/v1/why/{quoted(subject)}")["why"])
        except SupervisorError as refused:
            text = refused.message
        if subject == self._subject:
            self.call_from_thread(self.query_one("#why", Static).update, printing.clean(text))

    def action_log(self) -> None:
        if "." in (job := self._selected()):
            log = self.query_one("#log", RichLog)
            log.clear()
            log.border_title = job
            self._tail = Tail(self._client, job)
            self._open("#log")
            self.follow()

    def follow(self) -> None:
        if (tail := self._tail) is not None and "log" not in self._busy:
            self._busy.add("log")
            self._more(tail)

    @work(thread=True, group="log")
    def _more(self, tail: Tail) -> None:
        try:
            rows = tail.more()
            if self._tail is tail:
                self.call_from_thread(self._written, rows)
        except SupervisorError as away:
            self.call_from_thread(self.say, away.message)
        finally:
            self._busy.discard("log")

    def _written(self, rows: list[dict[str, Any]]) -> None:
        log = self.query_one("#log", RichLog)
        for row in rows:
            log.write(Text.from_ansi(logs.row_text(row)))

    def action_ended(self) -> None:
        self._ended = not self._ended
        self.say("the jobs that ended last" if self._ended else "the jobs that are at work")
        self.look()

    def action_filter(self) -> None:
        self._prompt("show only rows with these words", self._words, self._filter)

    def _filter(self, text: str) -> None:
        self._words = text
        self.say(f"only rows with: {text}" if text else "")
        self._show()

    def action_close(self) -> None:
        for name in ("#pane", "#log", "#asked"):
            self.query_one(name).remove_class("shown")
        self._tail = None
        self._table("#jobs").focus()

    def _open(self, name: str) -> None:
        if name != "#log":
            self._tail = None
        for each in ("#pane", "#log"):
            self.query_one(each).set_class(each == name, "shown")

    # --- keys that steer

    def action_pause(self) -> None:
        batch = self._selected().partition(".")[0]
        self._steer(lambda: steering.pause_or_resume(self._client, batch))

    def action_retry(self) -> None:
        if subject := self._selected():
            self._steer(lambda: steering.retry(self._client, subject))

    def action_cancel(self) -> None:
        if subject := self._selected():
            about = f"cancel {subject}? its work is rescued, not merged: y"
            self._prompt(about, "", partial(self._cancel_if, subject))

    def _cancel_if(self, subject: str, text: str) -> None:
        if text.lower() in ("y", "yes"):
            self._steer(lambda: steering.cancel(self._client, subject))

    def action_slots(self) -> None:
        pools = self._status.get("pools") or []
        first = f"{pools[0]['name']} {pools[0]['slots']}" if pools else ""
        self._prompt("pool and its number of slots", first, self._slots)

    def _slots(self, text: str) -> None:
        self._steer(lambda: steering.slots(self._client, text))

    @work(thread=True, group="steer")
    def _steer(self, do: Callable[[], str]) -> None:
        try:
            said = do()
        except SupervisorError as refused:
            said = f"{refused.message}{f' ({refused.hint})' if refused.hint else ''}"
        self.call_from_thread(self.say, said)
        self.call_from_thread(self.look)

    # --- what is asked of the person

    def _prompt(self, about: str, text: str, purpose: Callable[[str], None]) -> None:
        asked = self.query_one("#asked", Input)
        self._purpose = purpose
        asked.value, asked.border_title, asked.placeholder = text, about, about
        asked.add_class("shown")
        asked.focus()
        asked.cursor_position = len(text)

    @on(Input.Submitted, "#asked")
    def answered(self, event: Input.Submitted) -> None:
        event.input.remove_class("shown")
        self._table("#jobs").focus()
        self._purpose(event.value.strip())


def fill(table: Table, columns: tuple[str, ...], rows: sights.Rows) -> None:
    """Only what has changed is changed, so the cursor stays where it is."""
    for key in [str(key.value) for key in table.rows if key.value not in rows]:
        table.remove_row(key)
    known = {str(key.value) for key in table.rows}
    for key, cells in rows.items():
        if key not in known:
            table.add_row(*(Text(cell, no_wrap=True) for cell in cells), key=key)
            continue
        for column, old, new in zip(columns, table.get_row(key), cells, strict=True):
            if old.plain != new:
                table.update_cell(key, column, Text(new, no_wrap=True), update_width=True)
