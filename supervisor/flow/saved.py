"""Where the work of a job is, in words: under which refs, and with which agents that are kept for it."""

from supervisor.model.attempt import AttemptKey, ref_of
from supervisor.model.batch import Batch
from supervisor.model.job import Job, Saved


def of(job: Job) -> tuple[Saved, ...]:
    """Of all its attempts. What an older version remembers of a job is its last work only."""
    if job.saved or not job.brought.head:
        return job.saved
    return (Saved(job.attempts, job.brought.head, job.brought.commits, rescued=not job.brought.claim),)


def ref(batch: Batch, job: Job, saved: Saved) -> str:
    """ "": nothing of it could be taken."""
    return ref_of(AttemptKey(batch.id, job.number, saved.attempt), rescued=saved.rescued) if saved.head else ""


def reach(saved: Saved) -> str:
    """How to get at the agent that is kept; "" where none is."""
    if not saved.agent:
        return ""
    return f"its clone is {saved.clone}" if saved.clone else f"`mngr connect {saved.agent}`"


def where(batch: Batch, job: Job) -> str:
    """One sentence for each attempt that has work."""
    return "; ".join(_where(batch, job, saved) for saved in of(job))


def _where(batch: Batch, job: Job, saved: Saved) -> str:
    parts = [f"kept under {ref(batch, job, saved)}"] if saved.head else []
    if saved.unsaved:
        parts.append(f"the agent {saved.agent} is kept ({reach(saved)}) for what could not be taken: {saved.unsaved}")
    return ", and ".join(parts)
