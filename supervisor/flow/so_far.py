"""A batch as a partial integration sees it: the jobs that are over; the others as if nothing had happened to them.

What sees only this can neither wait for a straggler nor say that it was cancelled.
"""

from collections.abc import Iterable
from dataclasses import replace

from immutables import Map

from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.outcome import Outcome


def brings_work(job: Job) -> bool:
    """What was only rescued is kept for a person, and so is the work of a job that was cancelled."""
    return bool(job.brought.head and job.brought.claim) and job.outcome is not Outcome.CANCELLED


def over(batch: Batch) -> tuple[int, ...]:
    """Also those that will not be begun any more, which bring nothing."""
    return tuple(job.number for job in batch.jobs() if job.state.is_over)


def bringing(batch: Batch) -> frozenset[int]:
    """Those of them that bring work."""
    return frozenset(n for n, job in batch.touched.items() if job.state.is_over and brings_work(job))


def so_far(batch: Batch, jobs: Iterable[int]) -> Batch:
    """By machine alone: a conflict is set aside for the last integration, which has an agent's judgement. A job that
    was retried since is not over any more, and has no place here."""
    profile = replace(batch.profile, integrator=False)
    view = replace(batch, touched=Map(), counts=Map(), cursor=0, again=(), integrator=None, profile=profile)
    view = replace(view, stopped="")  # or the others would be cancelled
    for number in jobs:
        if (job := batch.touched.get(number)) is not None and job.state.is_over:
            view = view.with_job(job)
    return view
