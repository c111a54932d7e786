"""What is always true of siblings: nobody is held for ever, and no job waits for a survey that nobody runs."""

from supervisor.model.batch import Batch
from supervisor.model.job import Job, JobState
from supervisor.model.state import State


def check_held(state: State, batch: Batch, job: Job) -> None:
    """What becomes of it is due, or the sibling that it waits for is on its way."""
    family = batch.siblings.of(job.number)
    assert family is not None
    if any((what, batch.id, job.number) in state.agenda.times for what in ("borrow", "free")):
        return
    assert family.fix is None, f"{job} waits for what is there"
    assert family.first, f"{job} waits for nobody"
    first = batch.job(family.first)
    is_next = first.state is JobState.HELD and ("free", batch.id, first.number) in state.agenda.times
    assert is_next or (first.state is not JobState.HELD and not first.state.is_over), f"{job} is held for ever"


def check_waiting(batch: Batch) -> None:
    if batch.next_queued is not None and batch.next_waiting is None:
        is_surveyed = batch.survey.is_due or batch.survey.under_way
        assert is_surveyed, f"{batch.id}.{batch.next_queued} waits for its file, which nobody runs"
