"""Judges what writers have written, and keeps it as a proposal: it counts only once a person accepts it.

    seed      nothing but the seed has changed, it is one block now, and the block is executed
    block     only tests have changed; the block is cited by tests that run its commands, and they pass each time
    stale     the same, for the test whose citation was stale

A rejected proposal is kept as well, with what confused its writer: that is the report on the tool's interface.
"""

import base64
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from supervisor.adapters.git.process import git
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.e2e.tutorial.writing import NotFilled, Task, proposed
from supervisor.errors import Hostile
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.node import cases_of
from supervisor.model.outcome import Outcome
from supervisor.model.verdict import Verdict, Verification
from supervisor.publication.rules.outcome import clean, parse_outcome
from supervisor.threads import in_thread, surely
from supervisor.verification.inspecting import Question, inspect
from supervisor.verification.rules.places import Allowed
from supervisor.verification.trials.asking import Unready
from supervisor.verification.trials.running import environment
from supervisor.verification.trials.runs import Run
from supervisor.verification.trials.trial import Trial, Trials
from supervisor.verification.works import Changes, read_work
from supervisor.verification.writers.citing import ask
from supervisor.verification.writers.executing import Execution, execute

MAX_BUNDLE = 4 * 2**20
MAX_CONFUSIONS = 20
PROPOSAL = "proposal.json"


@dataclass(slots=True)
class Proposal:
    """What a person is shown of a writer's work."""

    job: str
    item: str
    kind: str
    tutorial: str
    seed: str = ""
    #: id and text of the block that a seed has become
    block: str = ""
    text: str = ""
    verification: Verification = ""
    reason: str = ""
    execution: Execution | None = None
    #: the commits upon the base, as a git bundle in base64
    base: str = ""
    head: str = ""
    bundle: str = ""
    confusions: tuple[dict[str, str], ...] = ()


class Unproven(Exception):
    def __init__(self, reason: str, verification: Verification = "unverified") -> None:
        super().__init__(reason)
        self.reason, self.verification = reason, verification


class WritingJudge:
    def __init__(self, store: GitStore, layout: Layout, trials: Trials) -> None:
        self._store, self._layout, self._trials = store, layout, trials

    async def verify(self, batch: Batch, job: Job) -> Verdict:
        task = msgspec.json.decode(batch.tasks[job.number - 1], type=Task)
        seed = task.text if task.kind == "seed" else ""
        proposal = Proposal(batch.job_id(job.number), task.item, task.kind, task.tutorial, seed)
        proposal.base, proposal.head = batch.base, job.brought.head
        try:
            verdict = await self._judged(batch, job, task, proposal)
        except Unproven as unproven:
            verdict = _rejected(job, unproven)
        except Unready as unready:
            verdict = _rejected(job, Unproven(str(unready)))
        proposal.verification, proposal.reason = verdict.verification, verdict.reason or verdict.detail
        await in_thread(self._keep, AttemptKey(batch.id, job.number, job.attempts), proposal)
        return verdict

    async def _judged(self, batch: Batch, job: Job, task: Task, proposal: Proposal) -> Verdict:
        if not job.brought.head:
            if job.brought.claim == Outcome.BLOCKED:
                return Verdict(job.brought.claim, job.detail, "not-needed", job.detail)
            raise Unproven("it has written nothing")
        if job.brought.claim not in (Outcome.FIXED, Outcome.IMPROVED):
            raise Unproven(f"its writer calls it {job.brought.claim}")
        bare = self._store.bare(Path(batch.repo))
        work = await in_thread(read_work, bare, batch.base, job.brought.head, job.number)
        proposal.bundle = await _bundle(bare, batch, job)
        await self._obeys(batch, task, work)
        name = f"{batch.id}-{job.number}-{job.attempts}"
        async with self._trials.trial(batch, job.brought.head, name) as trial:
            if task.kind == "seed":
                return await self._executed(job, task, work, trial, proposal)
            try:
                return await self._proven(batch, job, task, work, trial)
            finally:
                await surely(self._log, AttemptKey(batch.id, job.number, job.attempts), trial)

    async def _obeys(self, batch: Batch, task: Task, work: Changes) -> None:
        """The usual policy applies; in addition, a writer may change one place only."""
        place = task.tutorial if task.kind == "seed" else f"{task.tests.rstrip('/')}/**".removeprefix("./")
        allowed = Allowed((place.lstrip("/"),), batch.profile.deny_paths)
        home = self._layout.state_dir
        kinds = tuple(commit.kind for commit in work.commits)
        question = Question(work.files, f"{task.tests or '.'}/test_of_a_block.py", allowed, kinds)
        if breaches := await inspect(question, environment(home, home, {})):
            raise Unproven("; ".join(map(str, breaches[:3])), "refused")

    async def _executed(self, job: Job, task: Task, work: Changes, trial: Trial, proposal: Proposal) -> Verdict:
        file = next((each for each in work.files if each.path == task.tutorial), None)
        try:
            if file is None:
                raise NotFilled("it does not touch its seed")
            block = proposed(file.before or "", file.after or "", task)
        except NotFilled as problem:
            raise Unproven(str(problem)) from None
        proposal.block, proposal.text = block.id, block.text
        proposal.execution = await execute(trial, block.text)
        if why := proposal.execution.why_not:
            raise Unproven(why)
        return Verdict(job.brought.claim, job.detail, "verified", "its commands work", runs=1, passed=1)

    async def _proven(self, batch: Batch, job: Job, task: Task, work: Changes, trial: Trial) -> Verdict:
        async with trial.stage() as stage:
            found = await ask(task, stage.copy, stage.env)
        if found.problem:
            raise Unproven(found.problem)
        runs = [
            await trial.run(*found.tests, times=len(found.tests)) for _ in range(max(1, batch.profile.verify_runs))
        ]
        passed = sum(_all_pass(run, found.tests) for run in runs)
        if not passed:
            raise Unproven(next((run.why_not for run in runs if not run.passed), "not all of its tests were run"))
        if passed < len(runs):
            raise Unproven(f"passed {passed} of {len(runs)}", "flaky")
        if broken := await self._broken(batch, job, work, trial):
            raise Unproven(f"it breaks {broken}")
        tests = f"{len(found.tests)} test{'s' * (len(found.tests) > 1)}"
        path = "" if found.has_unhappy or task.kind == "stale" else "; none of them for the unhappy path"
        reason = f"{tests} passed {passed} of {len(runs)}{path}"
        return Verdict(job.brought.claim, job.detail, "verified", reason, runs=len(runs), passed=passed)

    async def _broken(self, batch: Batch, job: Job, work: Changes, trial: Trial) -> str:
        """Tests of the files it changed that passed before and don't pass now."""
        files = [each.path for each in work.files if each.path.endswith(".py") and each.before and each.after]
        if not files:
            return ""
        times = sum((each.before or "").count("def test") for each in work.files) or 1
        after = await trial.run(*files, times=times)
        held = {each for each, case in after.cases.items() if case.result == "passed"}
        if after.session is not None and len(held) == len(after.cases):
            return ""
        async with self._trials.trial(batch, batch.base, f"{batch.id}-{job.number}-base") as base:
            before = (await base.run(*files, times=times)).cases
        broken = {each for each, case in before.items() if case.result == "passed" and each not in held}
        return ", ".join(sorted(each.partition("::")[2] for each in broken)[:3])

    def _keep(self, key: AttemptKey, proposal: Proposal) -> None:
        folder = self._layout.attempt(key)
        folder.mkdir(parents=True, exist_ok=True)
        proposal.confusions = tuple(_confusions(folder / "published" / "outcome.json"))
        partial = folder / f".{PROPOSAL}.partial"
        partial.write_bytes(msgspec.json.encode({"schema_version": 1, **asdict(proposal)}))
        partial.rename(folder / PROPOSAL)

    def _log(self, key: AttemptKey, trial: Trial) -> None:
        (self._layout.attempt(key) / "verification.log").write_text(trial.log)


def _all_pass(run: Run, tests: Iterable[str]) -> bool:
    return run.held and all(
        any(case.result == "passed" for case in cases_of(run.cases, test).values()) for test in tests
    )


async def _bundle(bare: Path, batch: Batch, job: Job) -> str:
    """The commits as they are, not as text that could mislead a mail program."""
    found = await git(
        bare, "for-each-ref", f"--points-at={job.brought.head}", f"refs/supervisor/{batch.id}/{job.number}/"
    )
    ref = found.decode().split("\t")[-1].strip()
    bundle = await git(bare, "bundle", "create", "-q", "-", ref, f"^{batch.base}", timeout=60)
    if len(bundle) > MAX_BUNDLE:
        raise Unproven(f"its commits are larger than {MAX_BUNDLE} bytes")
    return base64.b64encode(bundle).decode()


def _confusions(file: Path) -> Iterable[dict[str, str]]:
    """Which command confused the writer, and why."""
    try:
        said: Any = parse_outcome(file.read_bytes()).extra.get("confusions")
    except (OSError, Hostile):
        return
    for each in said[:MAX_CONFUSIONS] if isinstance(said, list) else ():
        if isinstance(each, dict):
            yield {name: clean(str(each.get(name) or ""), 1000) for name in ("command", "why")}


def _rejected(job: Job, why: Unproven) -> Verdict:
    claims = job.brought.claim in (Outcome.FIXED, Outcome.IMPROVED, Outcome.CLEAN)
    outcome, detail = (
        (Outcome.FAILED, f"{why.verification}: {why.reason}") if claims else (job.brought.claim, job.detail)
    )
    return Verdict(outcome, detail, why.verification, why.reason)


async def read_proposal(layout: Layout, key: AttemptKey) -> str | None:
    """As JSON; None where there is none."""
    try:
        return await in_thread((layout.attempt(key) / PROPOSAL).read_text)
    except FileNotFoundError:
        return None
