"""Settling a job whose attempt has ended: it is requeued, or ends with an outcome."""

from supervisor.flow import slots
from supervisor.model import event as ev
from supervisor.model.batch import Batch, BatchState
from supervisor.model.hindrance import FOR_A_PERSON, WAITED_OUT
from supervisor.model.job import Ending, How, Job
from supervisor.model.outcome import Outcome

#: For failed launches that are not the provider's fault: the most tries before the job fails, and the first back-off.
MOST_LAUNCHES, BACK_OFF_SECONDS = 5, 2.0
#: The back-off of a job whose agent was refused by its model's provider: doubles up to the limit.
HINDERED_SECONDS, LONGEST_HINDERED_SECONDS = 60.0, 3600.0

_OUTCOMES = {
    How.VANISHED: Outcome.LOST,
    How.STALLED: Outcome.STALLED,
    How.TIMED_OUT: Outcome.TIMED_OUT,
    How.REFUSED: Outcome.FAILED,
    How.UNLAUNCHED: Outcome.FAILED,
    How.CANCELLED: Outcome.CANCELLED,
}


def settled(batch: Batch, job: Job, at: float) -> ev.JobRequeued | ev.JobEnded:
    ending = job.ending or Ending(How.VANISHED)
    if ending.how is How.PUBLISHED:
        return ev.JobEnded(
            at,
            batch.id,
            job.number,
            outcome=job.verdict.outcome or job.brought.claim or Outcome.FAILED,
            detail=job.detail,
        )
    if batch.state is BatchState.CANCELLED:
        ending = Ending(How.CANCELLED, "its batch was cancelled")
    if (again := _again(batch, job, ending, at)) is not None:
        if not batch.is_spent:
            return again
        if not again.counts:  # it would be requeued, but the budget is spent
            ending = Ending(How.CANCELLED, batch.stop.detail)
    return ev.JobEnded(at, batch.id, job.number, outcome=_OUTCOMES[ending.how], detail=ending.detail)


def _again(batch: Batch, job: Job, ending: Ending, at: float) -> ev.JobRequeued | None:
    """The requeue event, or None if the job ends.

    A fault of the daemon or a provider is retried without limit and uses no retry. A launch that failed for another
    reason is retried a few times. A crash, a stall or a refused publication uses a retry. A timeout or a cancellation
    is not retried."""

    def requeued(wait: float = 0.0, counts: bool = False) -> ev.JobRequeued:
        why = f"{ending.how}: {ending.detail}" if ending.detail else str(ending.how)
        return ev.JobRequeued(at, batch.id, job.number, why=why, ready_at=at + wait, counts=counts)

    match ending.how:
        case How.INTERRUPTED:
            return requeued()
        case How.HINDERED if job.setbacks.hindrance in FOR_A_PERSON:
            return requeued()  # its batch is stopped until a person resumes it
        case How.HINDERED if job.account and job.setbacks.hindrance in ("", *WAITED_OUT):
            return requeued()  # its account waits
        case How.HINDERED:
            return requeued(
                min(HINDERED_SECONDS * 2.0 ** min(job.setbacks.hindrances - 1, 10), LONGEST_HINDERED_SECONDS)
            )
        case How.UNLAUNCHED if ending.reason in slots.PROVIDER_FAULTS:
            return requeued()
        case How.UNLAUNCHED if ending.reason != "refused" and job.setbacks.launches < MOST_LAUNCHES:
            return requeued(BACK_OFF_SECONDS * 2 ** (job.setbacks.launches - 1))
        case How.VANISHED | How.STALLED | How.REFUSED if job.setbacks.retries < batch.profile.retries:
            return requeued(counts=True)
        case _:
            return None
