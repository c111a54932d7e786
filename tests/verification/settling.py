"""Settles all claims of a generated repository as the daemon does: in the groups that the core plans."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.flow.verifying import next_group, put_back, wanted
from supervisor.model.attempt import AttemptKey
from supervisor.model.job import JobState
from supervisor.model.state import State
from supervisor.model.verdict import Verdict
from supervisor.ports import QUIET, PutBack, Sitting
from supervisor.verification.judge import ProvingJudge, opened_judge
from tests.verification.generated import Generated


@dataclass
class Settled:
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    #: the claims of each group, and what was put back, with the reason
    groups: list[tuple[int, ...]] = field(default_factory=list)
    put_back: dict[int, str] = field(default_factory=dict)


async def settle(judge: ProvingJudge, made: Generated, width: int = 1) -> Settled:
    """`width`: so many runs of a group may be under way."""
    state, found = _waiting(made), Settled()
    while keys := next_group(state, made.batch.created_at)[1]:
        numbers = tuple(key.job for key in keys)
        found.groups.append(numbers)
        for key in keys:
            state = replace(state, verifying=state.verifying.begun(key, keys[0]))
        jobs = [made.jobs[number - 1] for number in numbers]
        is_alone = len(jobs) == 1
        together = (
            {}
            if is_alone
            else await judge.verify_together(made.batch, jobs, sitting=Sitting(QUIET.tell, lambda: width))
        )
        for key in keys:
            verdict = await judge.verify(made.batch, jobs[0]) if is_alone else together[key.job]
            if isinstance(verdict, PutBack):
                found.put_back[key.job] = verdict.why
                state = put_back(state, key, verdict.most, verdict.meets)
            else:
                found.verdicts[key.job] = verdict
                state = replace(state, verifying=state.verifying.left(key))
    return found


def _waiting(made: Generated) -> State:
    batch = made.batch
    for job in made.jobs:
        batch = batch.with_job(replace(job, state=JobState.VERIFYING))
    state = State(installation="c0ffee").with_batch(batch)
    for job in made.jobs:
        state = wanted(state, AttemptKey(batch.id, job.number, job.attempts))
    return state


async def judge_of(folder: Path) -> ProvingJudge:
    return await opened_judge(GitStore(folder / "state"), Layout(folder / "state"))
