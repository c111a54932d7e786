"""What must be true before a batch is submitted: a clean checkout, a profile, and a stored copy of the base commit.

The daemon never collects tests: the user who submits does, in their own environment and with their own rights.
"""

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from supervisor.control import carrying
from supervisor.control.desk import Desk
from supervisor.control.messages import Submission
from supervisor.e2e.tutorial.writing import Task
from supervisor.errors import GitFailed, NoSuchThing, Refused
from supervisor.flow import policy
from supervisor.flow.requests import POLICY_HINT, decide
from supervisor.model.event import Event
from supervisor.model.profile import Profile
from supervisor.model.request import Submit
from supervisor.ports import RepoFacts
from supervisor.verification.trials.running import walls_lack
from supervisor.verification.walls.sandbox import mend
from supervisor.walled.orders import agent_walls_lack

#: no vowels, so that ids spell no words; no characters that look alike
LETTERS, ALL = "bcdfghjkmnpqrstvwxz", "bcdfghjkmnpqrstvwxz23456789"
ID_LENGTH = 5


async def look(desk: Desk, repo: Path, profile: str, *, allow_dirty: bool) -> tuple[RepoFacts, Profile]:
    """The checkout that a batch will start from."""
    resolved = desk.profile(profile)
    await _need_walls(resolved)
    facts = await _inspected(desk, repo)
    if facts.dirty_paths and not allow_dirty:
        raise Refused(
            f"{facts.root} has uncommitted work: {', '.join(facts.dirty_paths)}",
            hint="commit or stash it, or use --allow-dirty: agents then start from the last commit, without it",
        )
    bound = _bound(desk, resolved, str(facts.root))
    if denied := policy.breach(bound, desk.state().pools):
        raise Refused(denied, hint=POLICY_HINT)
    return facts, bound


def _bound(desk: Desk, profile: Profile, repo: str) -> Profile:
    """With the data policy that holds for the repository now."""
    return replace(profile, policy=desk.policy(repo))


async def _need_walls(profile: Profile) -> None:
    if profile.sandbox == "require" and (lacks := await walls_lack()):
        raise Refused(
            f"profile {profile.name} requires walls, and this machine can't build them: {lacks}", hint=mend(lacks)
        )
    if profile.agent_walls != "off" and (lacks := await agent_walls_lack()) and profile.agent_walls == "require":
        raise Refused(
            f"profile {profile.name} requires walls around agents, and this machine can't build them: {lacks}",
            hint=mend(lacks),
        )


async def _inspected(desk: Desk, repo: Path) -> RepoFacts:
    try:
        return await desk.store.inspect(repo)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or "it is no path"
        hint = "give the path of a checkout that the daemon's user may read"
        raise NoSuchThing(f"{str(repo)[:200]} can't be read: {why}", hint=hint) from None


async def submit(desk: Desk, asked: Submission, author: str) -> tuple[str, list[Event]]:
    """The batch's id and the events; none if it was submitted already."""
    profile = _profile(desk, asked)
    await _need_walls(profile)
    tasks = tuple(_task(each) for each in asked.tasks)
    tests = tuple(dict.fromkeys(asked.tests))
    cases = tuple(asked.cases) if max(asked.cases, default=1) > 1 else ()
    if asked.cases and len(asked.cases) != len(tests):
        raise Refused("`cases` does not match `tests`", hint="give one number per test, and no test twice")
    batch = asked.batch or await new_id(desk)
    facts = await _inspected(desk, Path(asked.repo))
    if asked.carry_over and not tasks:
        order = carrying.first(tests, await carrying.left_over(desk.journal, str(facts.root), profile.name))
        tests, cases = tuple(tests[each] for each in order), tuple(cases[each] for each in order if cases)
    request = Submit(
        batch,
        str(facts.root),
        asked.base,
        tests,
        _bound(desk, profile, str(facts.root)),
        priority=asked.priority,
        author=author,
        role=asked.role,
        tasks=tasks,
        cases=cases,
        # If the base is not the commit that is checked out, the branch it comes from is unknown.
        submitted_from=facts.branch if facts.head_sha == asked.base else "",
        audited=tuple(number for number, test in enumerate(tests, 1) if test in set(asked.audited)),
    )
    # A refused submission leaves nothing behind, and a repeated one is not copied again.
    if not decide(desk.state(), request, desk.clock()):
        return batch, []
    # Ask the journal after the state: a batch that is sealed in between is found in one of the two.
    if await desk.journal.sealed_batch(batch) is not None:
        raise Refused(f"a batch {batch} already existed", hint="submit with another id, or without one")
    return batch, await begin(desk, request)


def _profile(desk: Desk, asked: Submission) -> Profile:
    """The configured one, with what was asked for instead."""
    profile = desk.profile(asked.profile)
    return replace(
        profile,
        pytest_args=tuple(asked.pytest_args),
        per=asked.per or profile.per,
        select=asked.select or profile.select,
        python_path=_folders(asked.python_path) if asked.python_path else profile.python_path,
    )


async def begin(desk: Desk, request: Submit) -> list[Event]:
    """Fetch the base commit only for a request that would be accepted."""
    request = replace(request, profile=_bound(desk, request.profile, request.repo))
    decide(desk.state(), request, desk.clock())
    await _take(desk, request)
    return await desk.asked(request)


def _folders(said: list[str]) -> tuple[str, ...]:
    if wrong := next((each for each in said if ".." in each.split("/")), None):
        raise Refused(f"{wrong} is not a folder of the repository", hint="name folders below its root, such as src")
    return tuple(said)


async def _take(desk: Desk, request: Submit) -> None:
    try:
        await desk.store.snapshot(Path(request.repo), request.base, request.batch)
    except GitFailed as failed:
        hint = "check that the daemon's user may read the repository and that the commit exists"
        raise Refused(
            f"commit {request.base[:12]} of {request.repo} can't be fetched: {failed.message}", hint=hint
        ) from failed


def _task(said: dict[str, Any]) -> str:
    """A writer's task, parsed and serialized again."""
    try:
        return msgspec.json.encode(msgspec.convert(said, Task)).decode()
    except (msgspec.MsgspecError, ValueError) as error:
        raise Refused(
            f"a task is invalid: {str(error)[:200]}", hint="submit tasks with `supervisorctl tutorial`"
        ) from None


async def new_id(desk: Desk) -> str:
    while True:
        batch = secrets.choice(LETTERS) + "".join(secrets.choice(ALL) for _ in range(ID_LENGTH - 1))
        if batch not in desk.state().batches and await desk.journal.sealed_batch(batch) is None:
            return batch
