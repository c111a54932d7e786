"""The parts of the first page that change, as HTML: made once for all who look, and at most once a second."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from supervisor.control.desk import Desk
from supervisor.dashboard.entering import Session
from supervisor.dashboard.pace import pace
from supervisor.dashboard.past import Past
from supervisor.dashboard.rendering import rendered
from supervisor.observe import snapshot
from supervisor.observe.alerts import alerts
from supervisor.observe.budget import accounts
from supervisor.observe.patterns import patterns
from supervisor.observe.why import explain
from supervisor.threads import in_thread

#: stands for the key of a session's forms in HTML that is made for everybody; no text of anybody's has it
FORM_KEY = secrets.token_hex(16)
#: for the parts that take a look at every job
LEAST_SECONDS = 1.0
MOST_PATTERNS = 8
PARTS = ("attention", "numbers", "patterns", "pools", "accounts")


@dataclass(slots=True)
class _Made:
    at: float
    html: Mapping[str, str]


def keyed(html: str, session: Session) -> str:
    return html.replace(FORM_KEY, session.form_key)


class Faces:
    def __init__(self, desk: Desk, past: Past) -> None:
        self._desk, self._past = desk, past
        self._made: dict[str, _Made] = {}
        self._making = anyio.Lock()

    async def of(self, batch: str) -> Mapping[str, str]:
        """The parts of a batch's page, by name."""
        async with self._making:
            known, now = self._made.get(batch), self._desk.clock()
            if known is not None and 0 <= now - known.at < LEAST_SECONDS:
                return known.html
            open_batches = self._desk.state().batches
            self._made = {name: made for name, made in self._made.items() if name in open_batches}
            html = await in_thread(lambda: self._html(batch, now))
            self._made[batch] = _Made(now, html)
            return html

    def _html(self, name: str, now: float) -> Mapping[str, str]:
        state = self._desk.state()
        batch = state.batches.get(name)
        queue = snapshot.queue(state, now, self._desk.problems(), self._desk.strays())
        values = {
            "state": state,
            "batch": batch,
            "queue": queue,
            "view": next((each for each in queue["batches"] if each["id"] == name), None),
            "why": explain(state, name, now) if batch else None,
            "pace": pace(batch, self._past.so_far(name), now) if batch else None,
            "accounts": accounts(state, now),
            "alerts": alerts(state, now)["rows"],
            "patterns": patterns(batch)[:MOST_PATTERNS] if batch else [],
            "budget": batch.profile.budget_tokens if batch else 0,
            "form_key": FORM_KEY,
        }
        return {part: rendered(f"part_{part}.html", **values) for part in PARTS}
