"""Why a batch is where it is: one function for each state of its table, `batches.TRANSITIONS`."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from supervisor.model.attempt import Stage
from supervisor.model.batch import Batch, BatchState
from supervisor.model.job import AT_WORK, Job, JobState
from supervisor.observe.why import jobs, siblings, waiting
from supervisor.observe.why.answer import Answer, Cause, Reason
from supervisor.observe.why.scene import Scene, because, by, count, have, quoted, sentence

#: how many of a kind are named
MOST_NAMED = 3


def of_batch(scene: Scene, batch: Batch) -> Answer:
    reasons = tuple(_STATES[batch.state](scene, batch))
    return Answer(batch.id, "batch", batch.state, f"Batch {batch.id} is {batch.state}, {_counts(batch)}.", reasons)


def _counts(batch: Batch) -> str:
    counts = {state: batch.count(state) for state in JobState}
    said = ", ".join(f"{number:,} {state}" for state, number in counts.items() if number)
    return f"{count(len(batch.tests), 'job')}: {said}"


def _open(scene: Scene, batch: Batch) -> Iterator[Reason]:
    """Not all its jobs are over: what its integration still waits for."""
    if batch.is_drained:
        yield Reason(Cause.SETTLING, "All its jobs are over.", "Its integration starts next.")
        return
    yield from _queued(scene, batch)
    yield from _at_work(scene, batch)
    yield from _checked(scene, batch)
    yield from _surveyed(batch)
    yield from _partial(scene, batch)


def _queued(scene: Scene, batch: Batch) -> Iterator[Reason]:
    yield from islice(siblings.of_batch(batch), MOST_NAMED)
    if not batch.count(JobState.QUEUED):
        yield from waiting.held(scene, batch)
        return
    if batch.next_queued is not None:
        blockers = list(waiting.blockers(scene, batch))
        yield from blockers
        if not blockers:
            yield Reason(Cause.NEXT, f"A slot is free: {batch.job_id(batch.next_queued)} is launched in its turn.")
        return
    yield from waiting.held(scene, batch)
    due = [at for job in batch.begun() if (at := scene.due("ready", batch.id, job.number)) is not None]
    if due:
        text = f"{count(len(due), 'job')} will be tried again."
        yield Reason(Cause.BACK_OFF, text, f"The first is ready at {scene.until(min(due))}.")


def _at_work(scene: Scene, batch: Batch) -> Iterator[Reason]:
    working = [job for job in batch.begun() if job.state in AT_WORK]
    for job in _some(working, JobState.PARKED):
        yield from (_of(batch, job, each) for each in jobs.reasons(scene, batch, job) if each.cause is Cause.PARKED)
    for job in working[:MOST_NAMED]:
        yield from (_of(batch, job, each) for each in jobs.reasons(scene, batch, job) if each.cause is Cause.HINDERED)
    if working:
        ends = [
            at for each in scene.state.attempts_of(batch.id) if (at := scene.due("time-out", *each.key)) is not None
        ]
        change = f"The last time limit of theirs ends at {scene.until(max(ends))}." if ends else ""
        are = "agent is" if len(working) == 1 else "agents are"
        yield Reason(Cause.JOBS_AT_WORK, f"{len(working):,} {are} at work for it.", change)


def _checked(scene: Scene, batch: Batch) -> Iterator[Reason]:
    """The steps after the agents; the first job of each state stands for all of them."""
    for state in (JobState.COLLECTING, JobState.VERIFYING):
        for job in _some(batch.begun(), state, most=1):
            for reason in jobs.reasons(scene, batch, job):
                yield _of(batch, job, reason)


def _some(found: "Iterator[Job] | list[Job]", state: JobState, most: int = MOST_NAMED) -> list[Job]:
    return [job for job in found if job.state is state][:most]


def _of(batch: Batch, job: Job, reason: Reason) -> Reason:
    text = reason.text[0].lower() + reason.text[1:]
    return Reason(reason.cause, f"Of {batch.job_id(job.number)}: {text}", reason.change)


def _surveyed(batch: Batch) -> Iterator[Reason]:
    if (survey := batch.survey).under_way:
        text = f"Its base is being surveyed: {survey.over} of {count(len(survey.files), 'file')} were run."
        yield Reason(Cause.SURVEYING, text)


def _partial(scene: Scene, batch: Batch) -> Iterator[Reason]:
    if (partial := batch.integrations.partial) is None:
        return
    if partial.trouble:
        due = scene.due("partial", batch.id)
        change = f"It is tried again at {scene.until(due)}." if due is not None else ""
        yield Reason(Cause.PARTIAL, f"Its partial integration failed{because(partial.trouble)}", change)
    else:
        text = f"The work of {count(len(partial.jobs), 'job')} is being merged by a partial integration."
        yield Reason(Cause.PARTIAL, text, "Agents work on meanwhile; the final integration waits for it.")


# --- drained


def _integrating(scene: Scene, batch: Batch) -> Iterator[Reason]:
    due = scene.due("integrate", batch.id)
    if batch.ledger:
        yield Reason(Cause.SETTLING, "It is integrated.", "The daemon records its end next.")
    elif batch.integrator is not None and not batch.integrator.state.is_over:
        yield from _judged(scene, batch, batch.integrator)
    elif due is not None and batch.integrations.trouble:
        again = f"It is tried again at {scene.until(due)}."
        yield Reason(Cause.INTEGRATION_FAILED, f"Its integration failed{because(batch.integrations.trouble)}", again)
    else:
        begins = "is about to be" if due is not None else "is being"
        checked = " what its integrator merged is checked, and" if batch.integrator is not None else ""
        text = f"All its jobs are over:{checked} their verified work {begins} merged into one branch, and proved."
        yield Reason(Cause.INTEGRATING, text, "It is finished when each job has a row in the ledger.")


def _judged(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    text = (
        f"Merging its work needs judgement: an agent does that as {batch.job_id(job.number)}, which is {job.state}."
    )
    yield Reason(Cause.JUDGEMENT, text)
    for reason in jobs.reasons(scene, batch, job):
        yield _of(batch, job, reason)


def _finished(scene: Scene, batch: Batch) -> Iterator[Reason]:
    where = f"its branch is {batch.result.branch}" if batch.result.branch else "nothing was merged"
    text = f"Its jobs are over, and {where}."
    yield Reason(Cause.FINISHED, text, f"`supervisorctl report {batch.id}` shows what came of it.")
    if batch.stop.reason:
        yield Reason(waiting.stopped(batch).cause, f"It was stopped{because(batch.stop.detail)}")
    for problem in batch.result.problems[:MOST_NAMED]:
        yield Reason(Cause.PROBLEM, sentence(f"A problem: {quoted(problem)}"))
    yield from _leaving(scene, batch)


def _cancelled(scene: Scene, batch: Batch) -> Iterator[Reason]:
    yield Reason(Cause.CANCELLED, f"It was cancelled{by(batch.cancelled_by)}.")
    left = [job for job in batch.begun() if not job.state.is_over]
    if left:
        text = f"{count(len(left), 'job')} of it still {have(len(left))} an agent, or work to bring home."
        yield Reason(Cause.RESCUING, text, "It ends when their work is safe; none of it is merged.")
    for job in left[:MOST_NAMED]:
        yield from (_of(batch, job, each) for each in jobs.reasons(scene, batch, job))
    yield from _partial(scene, batch)
    yield from _leaving(scene, batch)


def _leaving(scene: Scene, batch: Batch) -> Iterator[Reason]:
    """It stays in memory until its agents are put away."""
    found = [each for each in scene.state.attempts_of(batch.id) if each.stage is Stage.RELEASING]
    if not found:
        return
    for attempt in sorted(found, key=lambda each: each.key)[:MOST_NAMED]:
        reason = jobs.releasing(scene, attempt)
        if attempt.tries:
            yield reason
    text = f"{count(len(found), 'agent')} of it {have(len(found))} still to be put away."
    yield Reason(Cause.RELEASING, text)


_STATES: Mapping[BatchState, Callable[[Scene, Batch], Iterator[Reason]]] = {
    BatchState.QUEUED: _open,
    BatchState.RUNNING: _open,
    BatchState.INTEGRATING: _integrating,
    BatchState.FINISHED: _finished,
    BatchState.CANCELLED: _cancelled,
}
