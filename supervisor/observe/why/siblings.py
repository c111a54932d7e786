"""Why a job waits for a sibling, and what is tried on its test."""

from collections.abc import Iterator

from supervisor.flow.siblings import first_of, held_for
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.observe.why.answer import Cause, Reason
from supervisor.observe.why.scene import Scene, count, quoted, sentence


def held(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    family = batch.siblings.of(job.number)
    assert family is not None
    first = batch.job(first_of(batch, job.number))
    text = sentence(f"At the base both fail at one place of the code that they share: {quoted(family.place)}")
    name, state = batch.job_id(first.number), first.state
    change = f"{name} is {state}: when its work is verified, the test of this job is run with it"
    yield Reason(Cause.SIBLING, text, f"{change}; if it comes to nothing, the next sibling gets an agent.")


def tried(batch: Batch, job: Job, beside: str) -> Reason:
    assert job.borrowed is not None
    text = f"Its test is run with the work of {batch.job_id(job.borrowed.job)}, {beside}."
    return Reason(Cause.VERIFYING, text, "It is over if its test passes so; otherwise it gets an agent.")


def of_batch(batch: Batch) -> Iterator[Reason]:
    for family, number in held_for(batch):
        first = batch.job_id(first_of(batch, family.jobs[0]))
        are = "is" if number == 1 else "are"
        text = sentence(f"{count(number, 'job')} {are} held for {first}: {quoted(family.place)}")
        yield Reason(Cause.SIBLING, text, "When its work is verified, it is tried on their tests.")
