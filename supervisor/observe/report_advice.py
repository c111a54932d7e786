"""What to do next: sentences that follow from the numbers, each with the command that does it."""

import shlex
from collections.abc import Iterator, Sequence

from supervisor.observe.report import BatchFacts, Escalated, History, JobReport, Standing

MOST_NAMED = 5


def review(batch: BatchFacts) -> tuple[str, ...]:
    if not (branch := batch.branch or _branch_so_far(batch)):
        return ()
    there, span = shlex.quote(batch.repo), f"{batch.base[:12]}..{shlex.quote(branch)}"
    return (
        f"git -C {there} log --reverse --stat {span}",
        f"git -C {there} diff {span}",
    )


def next_steps(
    batch: BatchFacts, jobs: Sequence[JobReport], escalations: Sequence[Escalated], history: History
) -> Iterator[str]:
    yield from _review(batch)
    yield from (f"Mend this: {problem}." for problem in dict.fromkeys(p.rstrip(".") for p in history.problems))
    yield from _people(escalations, jobs, history)
    yield from _work(batch, jobs)


def _review(batch: BatchFacts) -> Iterator[str]:
    if batch.state in ("queued", "running"):
        yield f"It is not over: `supervisorctl follow {batch.id}` shows its progress."
        if branch := _branch_so_far(batch):
            where = batch.so_far.pull_request if batch.so_far is not None else ""
            yield f"Review what is done so far: {where or f'the branch {branch}'}."
    if batch.pull_request:
        yield f"Review {batch.pull_request}."
    elif batch.branch:
        yield f"Review the branch {batch.branch}: each fix of the implementation can be reverted alone."


def _branch_so_far(batch: BatchFacts) -> str:
    """Until the batch is over: then all of it is elsewhere, or nothing."""
    return batch.so_far.branch if batch.so_far is not None and batch.finished_at is None else ""


def _people(escalations: Sequence[Escalated], jobs: Sequence[JobReport], history: History) -> Iterator[str]:
    """What only a person can do."""
    if blockers := [each for each in escalations if each.is_blocker]:
        yield f"Look at {_count(len(blockers), 'blocker')} first: {_line(blockers[0].title)}."
    elif escalations:
        yield f"Look at {_count(len(escalations), 'escalation')}: {_line(escalations[0].title)}."
    if parked := _of(jobs, Standing.PARKED):
        yield f"Answer {_count(len(parked), 'agent')} that asked for permission: `mngr connect {parked[0].agent}`."
    if history.hindrances.get("login"):
        yield "Log the agents in again: their provider refused them."
    if history.hindrances.get("credit"):
        yield "Top up the credit of the agents: their provider wants to be paid."
    if limits := history.hindrances.get("limit"):
        yield f"Take fewer slots, or a later window: the provider's limit stopped agents {_times(limits)}."


def _work(batch: BatchFacts, jobs: Sequence[JobReport]) -> Iterator[str]:
    """What became of work, and what to run again."""
    conflicts = [job for job in jobs if job.ledger == "conflict"]
    if conflicts:
        count = _count(len(conflicts), "conflict")
        yield f"Resolve {count}: {_named(conflicts)}. The work is there: `supervisorctl work {batch.id}`."
    if flaky := _of(jobs, Standing.FLAKY):
        yield f"Look at what makes {_count(len(flaky), 'test')} flaky: {_named(flaky)}."
    if failed := _of(jobs, Standing.FAILED):
        yield _again(batch, failed, "failed")
    if unstarted := _of(jobs, Standing.NEVER_STARTED):
        yield _again(batch, unstarted, "never started")
    if rescued := [job for job in jobs if job.ledger == "rescued"]:
        yield f"See what was rescued of {_named(rescued)}, and not merged: `supervisorctl work {batch.id}`."


def _again(batch: BatchFacts, jobs: Sequence[JobReport], what: str) -> str:
    """An open batch takes its jobs again; once it is over, they are a batch of their own."""
    target = jobs[0].id if len(jobs) == 1 else batch.id
    return f"Retry what {what}: `supervisorctl retry {target}`."


def _of(jobs: Sequence[JobReport], standing: Standing) -> list[JobReport]:
    return [job for job in jobs if job.standing == standing]


def _named(jobs: Sequence[JobReport]) -> str:
    more = [f"{len(jobs) - MOST_NAMED} more"] if len(jobs) > MOST_NAMED else []
    return ", ".join([*(job.id for job in jobs[:MOST_NAMED]), *more])


def _line(text: str, most: int = 120) -> str:
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split()).rstrip(".")
    return line if len(line) <= most else line[: most - 1] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
