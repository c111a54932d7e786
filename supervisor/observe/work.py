"""Work that is on no branch of a person's: where it is, why it is not merged, and how to have it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from supervisor.flow import saved
from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR, UNPROVEN, Job, Saved
from supervisor.model.ledger import Fate
from supervisor.observe.snapshot import View, work_entry

_ON_BRANCH = (Fate.MERGED, Fate.DUPLICATE)


@dataclass(frozen=True, slots=True)
class Piece:
    """The work of one attempt, or a batch's branch that could not be made."""

    #: of a job, or of a batch
    id: str
    #: 0: of a batch
    attempt: int
    view: View
    #: what it is called in a person's repository, unless they say otherwise
    branch: str

    @property
    def head(self) -> str:
        return str(self.view["head"] or "")


def pieces(batch: Batch, job: int | None = None) -> list[Piece]:
    """The newest attempt of each job first: the others have its number in their name."""
    found = list(_unlanded(batch)) if job is None else []
    wanted = batch.begun() if job is None else (batch.job(job),)
    for each in sorted(wanted, key=lambda each: each.number):
        found += _of(batch, each)
    return found


def _of(batch: Batch, job: Job) -> Iterator[Piece]:
    row, all_of_it = batch.ledger.get(job.number), saved.of(job)
    merged = row is not None and row.fate in _ON_BRANCH
    name = batch.job_id(job.number)
    left = [each for each in all_of_it if each.unsaved or not (merged and each.head == job.head)]
    if job.number == INTEGRATOR:
        left = [each for each in left if each.rescued]  # what it published became the branch, or was refused for it
    for number, each in enumerate(reversed(left)):
        own = each.head == job.head or row is None
        view: View = {
            "job": name,
            "test": job.test,
            "ledger": row.fate.value if row is not None and (own or not merged) else None,
            "outcome": job.outcome,
            "why": _why(job, each, row.detail if row is not None and own and not each.rescued else ""),
            **work_entry(batch, job, each),
        }
        branch = f"supervisor/work/{name}" + (f"-{each.attempt}" if number else "")
        yield Piece(name, each.attempt, view, branch)


def _why(job: Job, each: Saved, ledger: str) -> str:
    if each.rescued:
        return f"rescued, not published{f': {job.detail}' if job.detail else ''}"
    if each.head != job.head:
        return "a later attempt took its place"
    if ledger:
        return ledger
    if job.verification in UNPROVEN:
        return f"{job.verification}: {job.reason}"
    return f"{job.verification or 'not verified'}, not merged"


def _unlanded(batch: Batch) -> Iterator[Piece]:
    """The branch of an integration that is only in the daemon's own repository."""
    if not batch.branch_head or batch.branch:
        return
    merged = [row for row in batch.ledger.values() if row.fate is Fate.MERGED]
    view: View = {
        "job": batch.id,
        "test": "",
        "ledger": Fate.MERGED.value,
        "outcome": None,
        "why": "; ".join(batch.problems),
        "attempt": None,
        "ref": f"refs/supervisor/{batch.id}/integrated/{batch.integrations}",
        "head": batch.branch_head,
        "commits": sum(len(row.commits) for row in merged),
        "rescued": False,
        "agent": None,
    }
    yield Piece(batch.id, 0, view, f"supervisor/{batch.id}")
