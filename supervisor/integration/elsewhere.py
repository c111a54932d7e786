"""Makes the branch of a batch again on another commit, without an agent: for a base that has moved on.

The batch does not change: the result is a branch in the person's repository. So nothing is journalled. Each step is
stored, and another request after a crash continues from there.
"""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from anyio import move_on_after
from anyio.abc import TaskGroup

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.adapters.steps import Steps
from supervisor.errors import GitFailed, Refused, SupervisorError
from supervisor.flow.partial import over, so_far
from supervisor.integration.mechanical import MachinePass
from supervisor.integration.proving import Prover
from supervisor.model.batch import Batch
from supervisor.model.ledger import Fate
from supervisor.ports import Integration
from supervisor.tasks import Promise
from supervisor.verification.trials.asking import AnyTrials

SHORT = 12
#: how long an answer waits for the result
ANSWER_SECONDS = 2.0


class Elsewhere:
    def __init__(self, layout: Layout, tasks: TaskGroup, trials: AnyTrials) -> None:
        """`tasks`: the task group in which branches are made while no request waits for them."""
        self._store, self._layout = GitStore(layout.state_dir), layout
        self._prover = Prover(trials, layout)
        self._tasks = tasks
        self._making: dict[tuple[str, str], Promise[Integration]] = {}

    async def onto(self, batch: Batch, sha: str) -> dict[str, Any]:
        """Start making the branch, or see how far it is; return its state or result. Raises Refused, GitFailed."""
        if batch.role != "tester":
            raise Refused(
                f"batch {batch.id} is the work of writers, which is not merged",
                hint="take it with `supervisorctl tutorial`",
            )
        key = (batch.id, sha)
        began = key not in self._making
        if began:
            self._making[key] = Promise()
            self._tasks.start_soon(self._making[key].of, partial(self._made, batch, sha))
        making = self._making[key]
        with move_on_after(ANSWER_SECONDS):
            await making.known.wait()
        answer: dict[str, Any] = {"batch": batch.id, "onto": sha, "changed": began, "state": "working"}
        if not making.known.is_set():
            return answer
        self._making.pop(key, None)
        try:
            return answer | {"state": "done"} | _told(batch, making.told())
        except SupervisorError:
            raise
        except Exception as gone:
            raise Refused(
                f"the work of batch {batch.id} can't be read any more: {gone}",
                hint="`[keep]` says for how long work is kept",
            ) from gone

    async def moved(self, repo: str, start: str, base: str, branch: str) -> str:
        """A sentence on the commits that follow a base on the branch it was taken from; "" if there are none."""
        return await self._store.moved(Path(repo), start, base, branch)

    async def _made(self, batch: Batch, sha: str) -> Integration:
        repo, name = Path(batch.repo), f"onto-{sha[:SHORT]}"
        steps = Steps(self._layout.batch(batch.id) / "integrations" / name)
        if (made := await steps.read("result", Integration)) is None:
            await self._store.keep(repo, sha, f"refs/supervisor/{batch.id}/{name}/start")
            view = so_far(batch, over(batch))
            machine = MachinePass(self._store, self._layout, self._prover, sha)
            done = await machine.pick(view, await machine.works(view, steps))
            await self._store.pin(repo, done.head, f"refs/supervisor/{batch.id}/{name}/integrated")
            notes = await steps.read("proved", tuple[str, ...]) or ()
            made = Integration(done.jobs, head="" if done.head == sha else done.head, notes=notes)
            await steps.write("result", made)
        if not made.head:
            return made
        try:
            branch = await self._store.land(repo, made.head, f"supervisor/{batch.id}-{name}")
        except (GitFailed, Refused) as failed:
            problem = f"the branch could not be made in {batch.repo}: {failed.message}"
            return Integration(made.ledger, head=made.head, problems=(problem,), notes=made.notes)
        return Integration(made.ledger, branch, head=made.head, notes=made.notes)


def _told(batch: Batch, made: Integration) -> dict[str, Any]:
    fates = [row.fate for row in made.ledger.values()]
    left = [
        {"job": batch.job_id(job), "ledger": row.fate, "detail": row.detail}
        for job, row in sorted(made.ledger.items())
        if row.fate in (Fate.CONFLICT, Fate.REJECTED)
    ]
    data = asdict(made)
    return {
        "branch": data["branch"] or None,
        "head": data["head"] or None,
        "ledger": {fate.value: fates.count(fate) for fate in Fate},
        "left": left,
        "problems": list(made.problems),
        "notes": list(made.notes),
    }
