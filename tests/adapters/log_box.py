"""An agent's files, and who reads them, with a power that can be cut."""

import json
from pathlib import Path
from typing import Any

from supervisor.adapters.layout import Layout
from supervisor.adapters.logs.books import Books, Page
from supervisor.adapters.logs.ingest import Ingest
from supervisor.adapters.logs.panes import Panes
from supervisor.adapters.logs.store import LogStore
from supervisor.model.attempt import Attempt, AttemptKey, Stage
from supervisor.ports import Sight
from supervisor.transcripts.redact import Redactor

KEY = AttemptKey("b", 1, 1)
ATTEMPT = Attempt(KEY, "agent-" + "0" * 32, "n", "local", "local", "", False, 0.0, Stage.LIVE)


class PowerLoss(BaseException):
    pass


class MortalStore(LogStore):
    dies = False

    def append(self, key: AttemptKey, data: bytes) -> int:
        end = super().append(key, data)
        if self.dies:
            raise PowerLoss
        return end


class MortalBooks(Books):
    dies = False

    def save(self, page: Page, *sources: str) -> None:
        super().save(page, *sources)
        if self.dies:
            raise PowerLoss


class Box:
    """An agent's files, and who reads them; `ingest` can be thrown away at any moment, as in a crash."""

    def __init__(self, root: Path, **bounds: int) -> None:
        self.root = root
        self.state = root / "agents" / ATTEMPT.agent_id
        self.store = MortalStore(Layout(root), **bounds)
        self.ingest = self.restarted()

    def restarted(self) -> Ingest:
        self.books = MortalBooks(self.root / "logs.sqlite3")
        self.ingest = Ingest(self.store, self.books, Redactor(["a-known-secret"]), self._state_dir, Panes({}))
        self.ingest.watch({KEY: ATTEMPT})
        return self.ingest

    def _state_dir(self, agent_id: str) -> Path:
        return self.root / "agents" / agent_id

    def file(self, source: str = "run") -> Path:
        path = self.state / "events" / source / "events.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, *lines: object, source: str = "run", end: str = "\n") -> None:
        with self.file(source).open("a") as file:
            file.write("".join((line if isinstance(line, str) else json.dumps(line)) + end for line in lines))

    def rounds(self) -> None:
        while self.ingest.round():
            pass

    def log(self, after: int = 0) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        while (piece := self.store.read(KEY, after))[0]:
            rows += map(json.loads, piece[0])
            after = piece[1]
        return rows

    def texts(self) -> list[str]:
        self.rounds()
        return [row["text"] for row in self.log()]

    @property
    def sight(self) -> Sight:
        self.rounds()
        sight = self.ingest.sight(KEY)
        assert sight is not None
        return sight


def said(n: int, **more: Any) -> dict[str, Any]:
    metrics = {"prompt_tokens": 100 * n, "completion_tokens": n, "cached_tokens": 60 * n}
    step = {"type": "step", "source": "agent", "message": f"m{n}", "model_name": "model-1", "metrics": metrics}
    return step | {"event_id": f"e{n}", "extra": {"message_id": f"msg_{n}"}} | more
