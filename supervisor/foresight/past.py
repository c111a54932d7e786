"""What earlier batches of a repository showed about each test, read from the rows that are kept of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from supervisor.model.usage import NOTHING, Usage

type Row = Mapping[str, Any]

_WELL = frozenset({"fixed", "improved", "clean"})
#: the work was good and is not on the branch
_UNMERGED = frozenset({"conflict", "rejected", "rescued"})


@dataclass(frozen=True, slots=True)
class Before:
    """The result of one test in one batch."""

    batch: str
    #: the number of its job, and of its attempts
    job: int
    test: str
    attempts: int
    profile: str = ""
    outcome: str = ""
    ledger: str = ""
    #: of all its attempts
    usage: Usage = NOTHING
    #: from its last launch until its work was collected; None: it was not collected
    seconds: float | None = None
    #: the selector would have skipped it
    audited: bool = False
    #: whether the test failed at the base; None: unknown
    failed_before: bool | None = None

    @property
    def tokens(self) -> int:
        return self.usage.tokens

    @property
    def is_well(self) -> bool:
        return self.outcome in _WELL and self.ledger not in _UNMERGED


def read(summary: Row, rows: Iterable[Row]) -> Iterator[Before]:
    """One batch, as `status` and `jobs` show it; jobs that no agent worked on are left out."""
    for row in rows:
        if row["attempts"]:
            kinds = ("input", "output", "cached")
            tokens = {kind: (row.get("tokens") or {}).get(kind, 0) for kind in kinds}
            yield Before(
                batch=summary["id"],
                job=int(str(row["id"]).rpartition(".")[2]),
                test=row["test"],
                attempts=row["attempts"],
                profile=summary.get("profile", ""),
                outcome=row["outcome"] or "",
                ledger=row["ledger"] or "",
                usage=Usage(**tokens, model=row.get("model") or ""),
                seconds=_seconds(row.get("launched_at"), row.get("collected_at")),
                audited=row.get("audited", False),
                failed_before=row.get("failed_before"),
            )


def _seconds(begun: str | None, ended: str | None) -> float | None:
    if begun is None or ended is None:
        return None
    seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds()
    return seconds if seconds >= 0 else None


def last(past: Iterable[Before]) -> dict[str, Before]:
    """The last result of each test; `past` is newest first. A job that is not over does not count."""
    found: dict[str, Before] = {}
    for each in past:
        if each.outcome:
            found.setdefault(each.test, each)
    return found


def last_well(past: Iterable[Before]) -> dict[str, Before]:
    """The last job that left each test clean, improved or fixed. The code shows whether its work was merged."""
    found: dict[str, Before] = {}
    for each in past:
        if each.outcome in _WELL:
            found.setdefault(each.test, each)
    return found
