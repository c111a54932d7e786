"""Advice on what to do next: sentences that follow from the report, each with its command."""

import shlex
from collections.abc import Iterator, Sequence

from supervisor.model.hindrance import Hindrance
from supervisor.model.ledger import HELD_BACK
from supervisor.observe.report import BatchFacts, Escalated, History, JobReport, Standing

MOST_NAMED = 5
MOST_SHOWN = 20
_SUCCESSES = (Standing.FIXED, Standing.IMPROVED)


def review(batch: BatchFacts, jobs: Sequence[JobReport]) -> tuple[str, ...]:
    """Commands for the reviewer, in order: first the commits with doubts."""
    if not (branch := batch.branch or _branch_so_far(batch)):
        return ()
    there, span = shlex.quote(batch.repo), f"{batch.base[:12]}..{shlex.quote(branch)}"
    doubtful = dict.fromkeys(sha for job in jobs if job.doubts for sha in job.merged)
    shown = [f"git -C {there} show {sha[:12]}" for sha in doubtful]
    return (
        *shown[:MOST_SHOWN],
        f"git -C {there} log --reverse --stat {span}",
        f"git -C {there} diff {span}",
    )


def next_steps(
    batch: BatchFacts, jobs: Sequence[JobReport], escalations: Sequence[Escalated], history: History
) -> Iterator[str]:
    yield from _review(batch, history)
    if doubtful := [job for job in jobs if job.doubts]:
        yield f"First read the doubts about {_count(len(doubtful), 'job')}: {_named(doubtful)}."
    yield from (f"Fix this: {problem}." for problem in dict.fromkeys(p.rstrip(".") for p in history.problems))
    yield from _people(escalations, jobs, history)
    yield from _work(batch, jobs)


def _review(batch: BatchFacts, history: History) -> Iterator[str]:
    if batch.state in ("queued", "running"):
        yield f"It is not over: `supervisorctl follow {batch.id}` shows its progress."
        if branch := _branch_so_far(batch):
            where = batch.so_far.pull_request if batch.so_far is not None else ""
            yield f"Review the jobs that are over: {where or f'the branch {branch}'}."
    if batch.pull_request:
        yield f"Review {batch.pull_request}."
    elif batch.branch:
        yield f"Review the branch {batch.branch}: {alone(history.notes)}."


def alone(notes: Sequence[str]) -> str:
    """Which fixes can be reverted alone: each fix was reverted from the finished branch and the result tested."""
    held = sum(note.startswith(HELD_BACK) for note in notes)
    if not held:
        return "each fix of the implementation can be reverted alone"
    which = "one fix of the implementation" if held == 1 else f"{held} fixes of the implementation"
    return f"{which} can't be reverted alone; all others can"


def _branch_so_far(batch: BatchFacts) -> str:
    """The branch of the last partial integration; "" once the batch is over."""
    return batch.so_far.branch if batch.so_far is not None and batch.finished_at is None else ""


def _people(escalations: Sequence[Escalated], jobs: Sequence[JobReport], history: History) -> Iterator[str]:
    """Steps that only a person can take."""
    if blockers := [each for each in escalations if each.is_blocker]:
        yield f"Look at {_count(len(blockers), 'blocker')} first: {_line(blockers[0].title)}."
    elif escalations:
        yield f"Look at {_count(len(escalations), 'escalation')}: {_line(escalations[0].title)}."
    if parked := _of(jobs, Standing.PARKED):
        yield f"Answer {_count(len(parked), 'agent')} that asked for permission: `mngr connect {parked[0].agent}`."
    if history.hindrances.get(Hindrance.LOGIN):
        yield "Log the agents in again: their provider refused them."
    if history.hindrances.get(Hindrance.CREDIT):
        yield "Top up the agents' account: their provider reports that there is no credit left."
    limits = sum(history.hindrances.get(each, 0) for each in (Hindrance.WINDOW, Hindrance.LIMIT))
    if limits:
        yield f"Use another account or another window: the provider's limit stopped agents {_times(limits)}."


def _work(batch: BatchFacts, jobs: Sequence[JobReport]) -> Iterator[str]:
    """Steps for work that is not merged, and for jobs to retry."""
    conflicts = [job for job in jobs if job.ledger == "conflict"]
    if conflicts:
        count = _count(len(conflicts), "conflict")
        yield f"Resolve {count}: {_named(conflicts)}. The work is kept: `supervisorctl work {batch.id}`."
    if rejected := [job for job in jobs if job.ledger == "rejected" and job.standing in _SUCCESSES]:
        fixes, work = _count(len(rejected), "verified change"), f"`supervisorctl work {batch.id}`"
        yield f"See why the integration rejected {fixes}: {_named(rejected)}. The work is kept: {work}."
    if flaky := _of(jobs, Standing.FLAKY):
        yield f"Find out why {_count(len(flaky), 'test is', 'tests are')} flaky: {_named(flaky)}."
    if failed := _of(jobs, Standing.FAILED):
        yield _again(batch, failed, "failed")
    if unstarted := _of(jobs, Standing.NEVER_STARTED):
        yield _again(batch, unstarted, "never started")
    if rescued := [job for job in jobs if job.ledger == "rescued"]:
        yield f"Look at the unmerged work that was rescued from {_named(rescued)}: `supervisorctl work {batch.id}`."


def _again(batch: BatchFacts, jobs: Sequence[JobReport], what: str) -> str:
    """The command to retry them: in the same batch while it is open, otherwise as a new batch."""
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


def _count(number: int, noun: str, many: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {many or noun + 's'}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
