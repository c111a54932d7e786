"""What the branch means for jobs that the work of a sibling has fixed: they bring nothing, and need that work."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.ledger import ON_BRANCH, LedgerRow
from supervisor.model.outcome import Outcome


def helped(batch: Batch, jobs: Collection[int]) -> Iterator[Job]:
    """The jobs that work of these was verified for. When the sibling was tried again, it has other work now."""
    for job in batch.touched.values():
        if job.outcome is not Outcome.FIXED_BY_SIBLING or (fix := job.borrowed) is None:
            continue
        if fix.job in jobs and batch.job(fix.job).brought.head == fix.head:
            yield job


def told(batch: Batch, ledger: Mapping[int, LedgerRow]) -> dict[int, LedgerRow]:
    """The ledger, which says of each such job whether the work that it needs is on the branch."""
    there = [number for number, row in ledger.items() if row.fate in ON_BRANCH]
    well = {job.number for job in helped(batch, there)}
    rows = dict(ledger)
    for job in batch.touched.values():
        if job.outcome is Outcome.FIXED_BY_SIBLING and job.number not in well and job.borrowed is not None:
            row, sibling = ledger[job.number], batch.job_id(job.borrowed.job)
            why = f"{row.detail}, which is not on the branch"
            doubt = f"its test still fails: the work of {sibling}, which it needs, is not on the branch"
            rows[job.number] = replace(row, detail=why, doubts=(*row.doubts, doubt))
    return rows
