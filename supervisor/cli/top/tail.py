"""The end of a job's log, piece by piece: each call returns at once, so that nobody waits for it when `top` ends."""

from typing import Any

from supervisor.control.client import Client, quoted

#: of a long log, only the end is shown at first
MOST_PAGES = 20


class Tail:
    def __init__(self, client: Client, job: str) -> None:
        self._client, self._job = client, job
        self._attempt, self._place = 0, 0

    def more(self) -> list[dict[str, Any]]:
        """What was written since the last call, also by the job's next attempt."""
        found: list[dict[str, Any]] = []
        for _ in range(MOST_PAGES):
            page = self._page()
            if self._attempt == 0:
                self._attempt = page["attempt"]
            found += page["rows"]
            self._place = page["next"]
            if page["rows"]:
                continue
            if not page["attempt_over"] or page["attempts"] <= self._attempt:
                break
            self._attempt, self._place = self._attempt + 1, 0
        return found

    def _page(self) -> dict[str, Any]:
        path = f"/v1/jobs/{quoted(self._job)}/logs"
        return self._client.get(path, attempt=self._attempt or None, after=self._place or None)
