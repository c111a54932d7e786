"""Work that is not on a branch in a person's repository: where it is, why it is not merged, how to get it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR, Job, Saved
from supervisor.model.ledger import ON_BRANCH, Fate
from supervisor.model.verdict import UNPROVEN
from supervisor.observe.snapshot import View, summary, work_entry


@dataclass(frozen=True, slots=True)
class Piece:
    """The work of one attempt, or a batch's branch that could not be created."""

    #: the id of a job or a batch
    id: str
    #: 0 for a batch
    attempt: int
    view: View
    #: the default name of its branch in a person's repository
    branch: str

    @property
    def head(self) -> str:
        return str(self.view["head"] or "")


def pieces(batch: Batch, job: int | None = None) -> list[Piece]:
    """The pieces of a batch or a job, newest attempt first; branches of older attempts have the attempt's number."""
    found = list(_unlanded(summary(batch))) if job is None else []
    wanted = batch.begun() if job is None else (batch.job(job),)
    for each in sorted(wanted, key=lambda each: each.number):
        found += _of(batch, each)
    return found


def sealed_pieces(batch: View, jobs: View, job: int | None = None) -> list[Piece]:
    """The pieces of a sealed batch from its summary, for when its events are not kept any more."""
    found = list(_unlanded(batch)) if job is None else []
    for number, row in enumerate(jobs["rows"], 1):
        if job in (None, number):
            found += _of_row(row)
    return found


def branch_of(job: str, older_attempt: int = 0) -> str:
    """The branch for a piece of work; only the newest one of a job has no number."""
    return f"supervisor/work/{job}" + (f"-{older_attempt}" if older_attempt else "")


def _of_row(row: View) -> Iterator[Piece]:
    """The pieces of one job. Summaries by older versions have no `work`."""
    merged = row["ledger"] in {fate.value for fate in ON_BRANCH}
    left = [each for each in row.get("work", ()) if each["agent"] or each["rescued"] or not merged]
    for number, each in enumerate(reversed(left)):
        why = "rescued, not published" if each["rescued"] else row.get("ledger_why") or "not merged"
        shown = {"job": row["id"], "test": row["test"], "outcome": row["outcome"], "why": why}
        view = shown | {"ledger": None if merged else row["ledger"]} | each
        yield Piece(row["id"], each["attempt"], view, branch_of(row["id"], each["attempt"] if number else 0))


def _of(batch: Batch, job: Job) -> Iterator[Piece]:
    row, all_of_it = batch.ledger.get(job.number), job.kept
    merged = row is not None and row.fate in ON_BRANCH
    name = batch.job_id(job.number)
    left = [each for each in all_of_it if each.unsaved or not (merged and each.head == job.brought.head)]
    if job.number == INTEGRATOR:
        left = [each for each in left if each.rescued]  # published work became the branch or was refused
    for number, each in enumerate(reversed(left)):
        own = each.head == job.brought.head or row is None
        view: View = {
            "job": name,
            "test": job.test,
            "ledger": row.fate.value if row is not None and (own or not merged) else None,
            "outcome": job.outcome,
            "why": _why(job, each, row.detail if row is not None and own and not each.rescued else ""),
            **work_entry(batch, job, each),
        }
        yield Piece(name, each.attempt, view, branch_of(name, each.attempt if number else 0))


def _why(job: Job, each: Saved, ledger: str) -> str:
    if each.rescued:
        return f"rescued, not published{f': {job.detail}' if job.detail else ''}"
    if each.head != job.brought.head:
        return "a later attempt replaced it"
    if ledger:
        return ledger
    if job.verdict.verification in UNPROVEN:
        return f"{job.verdict.verification}: {job.verdict.reason}"
    return f"{job.verdict.verification or 'not verified'}, not merged"


def _unlanded(batch: View) -> Iterator[Piece]:
    """A batch's branch that exists only in the daemon's repository."""
    if (found := batch.get("unlanded")) is None:
        return
    why = "; ".join(batch["problems"])
    view = {"job": batch["id"], "test": "", "ledger": Fate.MERGED.value, "outcome": None, "why": why}
    yield Piece(
        batch["id"],
        0,
        view | found | {"attempt": None, "rescued": False, "agent": None},
        f"supervisor/{batch['id']}",
    )
