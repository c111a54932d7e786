"""Retries jobs of a batch that is over, as a new batch that is linked to the old one."""

from pathlib import Path

from supervisor.control import intake
from supervisor.control.desk import Desk
from supervisor.control.naming import Meant
from supervisor.control.working import known
from supervisor.errors import GitFailed, Refused
from supervisor.flow.requests import to_retry
from supervisor.model.batch import Batch
from supervisor.model.event import Event
from supervisor.model.request import Submit


def is_over(meant: Meant) -> bool:
    return meant.open is None or meant.open.finished_at is not None


async def retry(desk: Desk, meant: Meant, author: str, *, job: int = 0, onto: str = "") -> tuple[str, list[Event]]:
    """The new batch and its events; no events if there is no job to retry, or the retry is already running."""
    old = await known(desk, meant)
    if old is None:
        raise Refused(f"the records of batch {meant.id} are no longer kept", hint="submit the tests again")
    numbers = to_retry(old, job)
    if not numbers:
        return "", []
    tests = tuple(old.tests[number - 1] for number in numbers)
    base = await _resolved(desk, old, onto) if onto else old.base
    for batch in desk.state().batches.values():
        if (batch.origin.retry_of, batch.tests, batch.base) == (old.id, tests, base) and batch.finished_at is None:
            return batch.id, []
    request = Submit(
        await intake.new_id(desk),
        old.repo,
        base,
        tests,
        old.profile,
        priority=old.priority,
        author=author,
        role=old.role,
        tasks=tuple(old.tasks[number - 1] for number in numbers) if old.tasks else (),
        cases=tuple(old.cases[number - 1] for number in numbers) if old.cases else (),
        retry_of=old.id,
    )
    return request.batch, await intake.begin(desk, request)


async def _resolved(desk: Desk, old: Batch, onto: str) -> str:
    try:
        return await desk.store.resolve(Path(old.repo), onto)
    except (GitFailed, OSError, ValueError) as failed:
        hint = "give a branch or a commit, such as HEAD"
        raise Refused(f"{onto} is not a commit of {old.repo}", hint=hint) from failed
