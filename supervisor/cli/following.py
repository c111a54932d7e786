"""`follow`: a batch's progress; a live display on a terminal, one line per event elsewhere."""

import time
from collections import deque
from datetime import datetime
from typing import Annotated, Any

import typer

from supervisor.cli import looking, printing, session, waiting
from supervisor.cli.arguments import BATCH
from supervisor.cli.patience import Patience
from supervisor.control.client import Client, quoted
from supervisor.errors import Unreachable
from supervisor.observe.survey import in_words

EVERY_SECONDS = 1.0
LAST_EVENTS = 8
#: the rate is measured over this many seconds, or over the whole run if that is shorter
RATE_SECONDS = 1800.0


def follow(ctx: typer.Context, batch: Annotated[str | None, BATCH] = None) -> None:
    """Show a batch's progress until it is over; exits as `wait` does. Ctrl-C stops following; the batch goes on.

    Example: supervisorctl follow
    """
    here = session.of(ctx)
    meant = session.batch_or_latest(here.client, batch)
    live = printing.has_terminal() and not here.json
    data = _live(here.client, meant) if live else _lines(here, meant)
    if not here.json:
        print(looking.batch_text(data))
    raise typer.Exit(waiting.code(data))


def _lines(here: session.Session, batch: str) -> dict[str, Any]:
    is_held = False
    for event in looking.followed(here.client, batch, 0):
        print(looking.event_text(event, as_json=here.json), flush=True)
        if event["kind"] in ("batch-stopped", "breaker-tripped", "batch-resumed"):
            is_held = event.get("reason", "budget") != "budget"
        if event["kind"] == "batch-finished" or (is_held and waiting.needs_a_person(_look(here.client, batch))):
            break
    return _look(here.client, batch)


def _look(client: Client, batch: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/v1/batches/{quoted(batch)}")["batch"]
    return found


class Pace:
    """How fast jobs end, measured from the snapshots seen so far."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def look(self, at: float, over: int) -> None:
        self._seen.append((at, over))
        while at - self._seen[0][0] > RATE_SECONDS:
            self._seen.popleft()

    def per_hour(self) -> float:
        (began, before), (now, over) = self._seen[0], self._seen[-1]
        return (over - before) * 3600 / (now - began) if now > began else 0.0

    def seconds_left(self, left: int) -> float | None:
        rate = self.per_hour()
        return left * 3600 / rate if rate else None


def _live(client: Client, batch: str) -> dict[str, Any]:
    from rich.live import Live

    pace, patience = Pace(), Patience()
    events: deque[dict[str, Any]] = deque(maxlen=LAST_EVENTS)
    seq = 0
    with Live(auto_refresh=False, transient=True) as screen:
        while True:
            try:
                rows = client.get("/v1/events", batch=batch, newest=True, limit=LAST_EVENTS)["rows"]
                data = _look(client, batch)
                pools = client.get("/v1/status")["pools"]
                patience.reward()
            except Unreachable as away:
                patience.wait(away)
                continue
            events += [row for row in rows if row["seq"] > seq]
            seq = rows[-1]["seq"] if rows else seq
            if waiting.is_over(data):
                return data
            pace.look(time.monotonic(), data["jobs"]["done"] + data["jobs"]["cancelled"])
            screen.update(_picture(data, pools, pace, list(events)), refresh=True)
            time.sleep(EVERY_SECONDS)


def _picture(batch: dict[str, Any], pools: list[dict[str, Any]], pace: Pace, events: list[dict[str, Any]]) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    jobs = batch["jobs"]
    over, total = jobs["done"] + jobs["cancelled"], jobs["total"]
    head = Table.grid(padding=(0, 2))
    head.add_row(f"batch {batch['id']}", batch["state"], ProgressBar(total, over, width=40), f"{over}/{total}")
    facts = [
        f"stages   {printing.counts(jobs, without=['total', 'done', 'cancelled'])}",
        f"outcomes {printing.counts(batch['outcomes'])}",
        f"slots    {', '.join(f'{pool["name"]} {pool["busy"]}/{pool["slots"]}' for pool in pools)}",
        f"pace     {_pace(batch, pace, total - over)}",
    ]
    if known := in_words(batch.get("survey")):
        facts.insert(2, f"base     {known}")
    if claims := looking.claims(batch):
        facts.insert(3, f"verify   {claims}")
    wanted = [f"! {printing.clean(entry['message'])}" for entry in batch["attention"]]
    lines = [*facts, *wanted, "", *(printing.event_line(event) for event in events)]
    return Group(head, *(Text(line, no_wrap=True, overflow="ellipsis") for line in lines))


def _pace(batch: dict[str, Any], pace: Pace, left: int) -> str:
    since = time.time() - datetime.fromisoformat(batch["created_at"]).timestamp()
    running = f"running for {printing.duration(since)}"
    if (seconds := pace.seconds_left(left)) is None:
        return running
    end = datetime.fromtimestamp(time.time() + seconds).strftime("%H:%M")
    return f"{running}, {pace.per_hour():.0f} jobs an hour, over at about {end} (in {printing.duration(seconds)})"
