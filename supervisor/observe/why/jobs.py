"""Why a job is where it is: one function for each state of its table, `lifecycle.TRANSITIONS`."""

from collections.abc import Callable, Iterator, Mapping

from supervisor.flow.governor import sleeping, waking
from supervisor.flow.siblings import first_of
from supervisor.model.attempt import Attempt, AttemptKey, Stage
from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR, Ending, How, Job, JobState
from supervisor.observe.why import claims, endings, siblings, waiting
from supervisor.observe.why.answer import Answer, Cause, Reason
from supervisor.observe.why.scene import Scene, because, count, quoted, sentence


def of_job(scene: Scene, batch: Batch, number: int) -> Answer:
    job = batch.job(number)
    return Answer(
        batch.job_id(number), "job", job.state, _where(scene, batch, job), tuple(reasons(scene, batch, job))
    )


def reasons(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    yield from _STATES[job.state](scene, batch, job)


def _where(scene: Scene, batch: Batch, job: Job) -> str:
    name = batch.job_id(job.number) + (", the job of the integrator," if job.number == INTEGRATOR else "")
    attempt = f" (attempt {job.attempts})" if job.attempts > 1 else ""
    where = {
        JobState.QUEUED: f"waits for a slot, {waiting.place(scene, batch, job.number)}"
        if job.state is JobState.QUEUED and _is_ready(scene, batch, job)
        else "is queued again",
        JobState.HELD: f"is held for a sibling, {batch.job_id(first_of(batch, job.number))}",
        JobState.LAUNCHING: f"is being launched{attempt}",
        JobState.RUNNING: f"is at work{attempt}",
        JobState.PARKED: f"waits for a person{attempt}",
        JobState.COLLECTING: f"is being brought home{attempt}",
        JobState.VERIFYING: "is being verified" if _group(scene, batch, job) else "waits to be verified",
        JobState.DONE: f"is over: {job.outcome}",
        JobState.CANCELLED: "is cancelled",
    }[job.state]
    return f"{name} {where}."


def _key(batch: Batch, job: Job) -> AttemptKey:
    return AttemptKey(batch.id, job.number, job.attempts)


def _attempt(scene: Scene, batch: Batch, job: Job) -> Attempt | None:
    return scene.state.attempts.get(_key(batch, job))


# --- queued


def _is_ready(scene: Scene, batch: Batch, job: Job) -> bool:
    return scene.due("ready", batch.id, job.number) is None


def _queued(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    yield from _cancelling(scene, batch, job)
    before = sentence(f"It went back into the queue: {quoted(job.setbacks.why)}") if job.setbacks.why else ""
    if job.continues:
        before += f" Its next agent begins with what attempt {job.continues} left."
    if (ready := scene.due("ready", batch.id, job.number)) is not None:
        yield Reason(Cause.BACK_OFF, before, f"It is ready to be tried again at {scene.until(ready)}.")
        yield from waiting.held(scene, batch)
        return
    if before:
        yield Reason(Cause.BACK_OFF, before)
    if job.number == INTEGRATOR:
        why = f"Merging needs judgement{because(job.detail)}" if job.detail else "Merging the work needs judgement."
        yield Reason(Cause.JUDGEMENT, why)
    blockers = list(waiting.blockers(scene, batch))
    yield from blockers
    if not blockers:
        yield Reason(Cause.NEXT, "A slot is free: it is launched in its turn.")


def _cancelling(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    if (due := scene.due("cancel", batch.id, job.number)) is None:
        return
    why = f": {quoted(batch.stop.detail)}" if batch.is_spent else ""
    if due > scene.now:
        key = _key(batch, job)
        told = (
            "It was told to finish" if (found := scene.state.attempts.get(key)) and found.nudges else "It must finish"
        )
        yield Reason(Cause.WRAPPING_UP, f"{told}{why}.", f"What is not published by {scene.until(due)} is rescued.")
    else:
        yield Reason(Cause.CANCELLING, f"It is about to be cancelled{why}.")


# --- with an agent


def _launching(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    yield from _cancelled_meanwhile(job)
    attempt = _attempt(scene, batch, job)
    assert attempt is not None
    on = f" on {'the new host' if attempt.new_host else 'the host'} {attempt.host}" if attempt.host else ""
    since = scene.since(attempt.started_at)
    text = f"mngr creates its agent {attempt.agent_name} in the pool {attempt.pool}{on} {since}."
    yield Reason(Cause.LAUNCHING, text, "It is at work as soon as mngr has created the agent.")


def _cancelled_meanwhile(job: Job) -> Iterator[Reason]:
    if job.ending is not None and job.ending.how is How.CANCELLED:
        text = sentence(f"It was cancelled meanwhile ({quoted(job.ending.detail)})")
        yield Reason(Cause.CANCELLING, text, "Its agent is put away when its launch is known to have ended.")


def _running(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    yield from _cancelling(scene, batch, job)
    yield from _hindered(job)
    attempt = _attempt(scene, batch, job)
    assert attempt is not None
    if attempt.quiet_since is not None:
        yield _quiet(scene, attempt)
    if scene.due("wrap-up", *attempt.key) is not None:
        yield Reason(Cause.WRAPPING_UP, f"It is about to be told to finish{because(batch.stop.detail)}")
    ends = scene.due("time-out", *attempt.key)
    change = f"It is over when it publishes, or at {scene.until(ends)}, its time limit." if ends is not None else ""
    begun = f", with what attempt {attempt.continues} left," if attempt.continues else ""
    text = (
        f"Its agent {attempt.agent_name} works{begun} in the pool {attempt.pool} {scene.since(attempt.started_at)}."
    )
    yield Reason(Cause.WORKING, text, change)


def _hindered(job: Job) -> Iterator[Reason]:
    if hindrance := job.setbacks.hindrance:
        text = f"Its model's provider refuses to serve it ({hindrance}){because(job.detail)}"
        yield Reason(Cause.HINDERED, text, "That uses up no retry; it goes on when it is served again.")


def _quiet(scene: Scene, attempt: Attempt) -> Reason:
    assert attempt.quiet_since is not None
    if attempt.waits and sleeping.sleeps(scene.state, attempt) and not sleeping.was_told(scene.state, attempt):
        return _asleep(scene, attempt)
    what = "waits for input" if attempt.waits else "shows no activity"
    what = "has not begun and waits for input" if attempt.unheard else what
    nudged = ""
    if attempt.nudged_at is not None:
        was = "could not be reached" if attempt.undelivered else "was reminded"
        nudged = f", and {was} at {scene.clock(attempt.nudged_at)}"
    due = scene.due("quiet", *attempt.key)
    change = (
        f"It is reminded or given up at {scene.until(due)}, unless it is active before." if due is not None else ""
    )
    return Reason(Cause.QUIET, f"It {what} {scene.since(attempt.quiet_since)}{nudged}.", change)


def _asleep(scene: Scene, attempt: Attempt) -> Reason:
    """Why the agent sleeps, and what waking it costs, by the same rule as the decision when its turn comes."""
    assert attempt.quiet_since is not None
    due = scene.due("quiet", *attempt.key) or scene.now
    costs = waking.priced(scene.state, attempt, max(due, scene.now))
    text = f"It sleeps {scene.since(attempt.quiet_since)}, because its account is paused."
    change = (
        f"It is looked at again at {scene.until(due)}, and told to go on unless starting its job again costs less"
    )
    return Reason(Cause.QUIET, text, sentence(f"{change}: {costs.told}" if costs is not None else change))


def _parked(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    yield from _cancelling(scene, batch, job)
    yield from _hindered(job)
    attempt = _attempt(scene, batch, job)
    assert attempt is not None
    text = f"Its agent {attempt.agent_name} asks for permission{because(job.detail)}"
    yield Reason(Cause.PARKED, text, f"{_answer(scene, batch, attempt)} {_limit(scene, attempt)}".strip())


def _answer(scene: Scene, batch: Batch, attempt: Attempt) -> str:
    due = scene.due("quiet", *attempt.key)
    match batch.profile.on_parked:
        case "deny" if "parked" not in attempt.nudges:
            return "The daemon answers no (`on_parked`)."
        case _ if due is not None:
            return f"It is given up at {scene.until(due)}, unless it goes on before (`on_parked`)."
        case _:
            return f"Answer it with `mngr connect {attempt.agent_name}`."


def _limit(scene: Scene, attempt: Attempt) -> str:
    ends = scene.due("time-out", *attempt.key)
    return f"Its time limit ends at {scene.until(ends)}." if ends is not None else ""


# --- its work


def _collecting(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    ending = job.ending or Ending(How.VANISHED)
    attempt = _attempt(scene, batch, job)
    if attempt is None or scene.due("settle", batch.id, job.number) is not None:
        yield Reason(Cause.SETTLING, _ended(ending), "The daemon decides next whether it is tried again.")
    elif attempt.stage is Stage.RELEASING:
        yield Reason(Cause.RELEASING, _ended(ending))
        yield releasing(scene, attempt, "Then it is tried again, or is over.")
    elif ending.how is How.PUBLISHED:
        yield Reason(Cause.COLLECTING, "It has published, and its work is being collected.", "Then it is verified.")
        yield from _retried(scene, attempt, "collect")
    else:
        yield Reason(Cause.RESCUING, f"{_ended(ending)} Whatever work it left is being rescued.")
        yield from _retried(scene, attempt, "collect")


def _ended(ending: Ending) -> str:
    return f"{_ENDINGS[ending.how]}{because(ending.detail)}"


_ENDINGS: Mapping[How, str] = {
    How.PUBLISHED: "It has published",
    How.VANISHED: "Its agent ended without publishing",
    How.TIMED_OUT: "Its time limit ended",
    How.STALLED: "Its agent stalled",
    How.HINDERED: "Its model's provider refused to serve it",
    How.UNLAUNCHED: "Its agent could not be launched",
    How.INTERRUPTED: "Its launch was interrupted by a restart of the daemon",
    How.REFUSED: "What it published can't be accepted",
    How.CANCELLED: "It was cancelled",
}


def releasing(scene: Scene, attempt: Attempt, then: str = "") -> Reason:
    """The agent is being put away; `then` is what follows."""
    how = "stopped and kept" if attempt.keep else "put away"
    tried = list(_retried(scene, attempt, "release"))
    trouble, again = (f" {tried[0].text}", f" {tried[0].change}") if tried else ("", "")
    text = f"Its agent {attempt.agent_name} is being {how}.{trouble}"
    return Reason(Cause.RETRYING if tried else Cause.RELEASING, text, f"{then}{again}".strip())


def _retried(scene: Scene, attempt: Attempt, what: str) -> Iterator[Reason]:
    if not attempt.tries:
        return
    due = scene.due(what, *attempt.key)
    change = f"It is tried again at {scene.until(due)}." if due is not None else "It is being tried again."
    text = f"That failed {'once' if attempt.tries == 1 else f'{attempt.tries} times'}{because(attempt.trouble)}"
    yield Reason(Cause.RETRYING, text, change)


def _group(scene: Scene, batch: Batch, job: Job) -> AttemptKey | None:
    return scene.state.verifying.group_of.get(_key(batch, job))


def _verifying(scene: Scene, batch: Batch, job: Job) -> Iterator[Reason]:
    found, key = scene.state.verifying, _key(batch, job)
    if scene.due("settle", batch.id, job.number) is not None:
        yield Reason(Cause.SETTLING, f"It has its verdict{_verdict(job)}.", "The daemon records it next.")
    elif (first := found.group_of.get(key)) is not None:
        others = len(found.groups[first].left) - 1
        beside = f"together with {count(others, 'other claim')}" if others else "by itself"
        text = f"Its claim is run again in clean checkouts, {beside}."
        change = "It is over when the runs have settled whether the claim is true."
        yield siblings.tried(batch, job, beside) if job.is_on_trial else Reason(Cause.VERIFYING, text, change)
    else:
        yield claims.unverified(scene, batch, key)


def _verdict(job: Job) -> str:
    said = job.verdict.verification or "not verified"
    return f", {said}{f' ({quoted(job.verdict.reason)})' if job.verdict.reason else ''}"


_STATES: Mapping[JobState, Callable[[Scene, Batch, Job], Iterator[Reason]]] = {
    JobState.QUEUED: _queued,
    JobState.HELD: siblings.held,
    JobState.LAUNCHING: _launching,
    JobState.RUNNING: _running,
    JobState.PARKED: _parked,
    JobState.COLLECTING: _collecting,
    JobState.VERIFYING: _verifying,
    JobState.DONE: endings.done,
    JobState.CANCELLED: endings.cancelled,
}
