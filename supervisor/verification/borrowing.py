"""Whether the verified work of a sibling makes a test pass, too: no case of the base is gone, and all pass.

The job has no work of its own, so policy is not asked. But the work was verified by another test, so for this one,
too, the runs are compared with the base's: they must not differ in something that no honest work changes.
"""

from collections.abc import Mapping, Sequence

from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.model.node import cases_of
from supervisor.model.outcome import Outcome
from supervisor.model.verdict import Verdict, Verification
from supervisor.threads import in_thread
from supervisor.verification.evidence.asking import certain
from supervisor.verification.evidence.facts import is_its_own
from supervisor.verification.together.parts import GOING_ON, own, unsound
from supervisor.verification.trials.asking import Place
from supervisor.verification.trials.reports import Case
from supervisor.verification.trials.runs import Instruments, Run
from supervisor.verification.verdicts import failed

MOST_NAMED = 3


async def tried(batch: Batch, job: Job, trial: Place, before: Run | None) -> Verdict:
    runs = await trial.run_again(job.test, batch.profile.verify_runs, batch.cases_of(job.number))
    return _verdict(job, runs, [run.why_not for run in runs], before)


async def tried_together(
    batch: Batch, jobs: Sequence[Job], trial: Place, before: Mapping[int, Run | None]
) -> dict[int, Verdict]:
    """By common runs: each job is judged by its own part of them."""
    tests, count = [job.test for job in jobs], len(jobs)
    common = [
        await trial.run(*tests, times=batch.cases_in(tests), instruments=Instruments(args=GOING_ON))
        for _ in range(batch.profile.verify_runs)
    ]
    if why := next(filter(None, (unsound(run, tests) for run in common)), ""):
        return dict.fromkeys((job.number for job in jobs), rejected("unverified", why))
    verdicts = {}
    for job in jobs:
        runs = [await in_thread(own, run, (job.test,), count) for run in common]
        verdicts[job.number] = _verdict(job, runs, [""] * len(runs), before[job.number])
    return verdicts


def rejected(verification: Verification, why: str, runs: int = 0, passed: int = 0) -> Verdict:
    return Verdict(Outcome.FAILED, f"{verification}: {why}", verification, why, runs, passed)


def _verdict(job: Job, runs: list[Run], said: Sequence[str], before: Run | None) -> Verdict:
    """`said`: why a run as a whole counts for nothing."""
    whys = [why or _why_not(job.test, run, before) for why, run in zip(said, runs, strict=True)]
    count, passed, why = len(runs), whys.count(""), next(filter(None, whys), "")
    if why:
        return rejected("flaky" if passed else "unverified", why, count, passed)
    if found := certain(job.test, before, runs, None):
        return rejected("refused", "; ".join(dict.fromkeys(found[:MOST_NAMED])), count, passed)
    counted = f"passed {passed} of {count}"
    was = failed(before, job.test)
    return Verdict(Outcome.FIXED_BY_SIBLING, counted, "verified", counted, count, passed, failed_before=was)


def _why_not(test: str, run: Run, before: Run | None) -> str:
    cases = cases_of(run.cases, test)
    if gone := sorted(cases_of(before.cases if before else {}, test).keys() - cases.keys()):
        return f"{gone[0]} is not there any more"
    if why := next((case.message or case.result for case in cases.values() if case.result != "passed"), ""):
        return why
    return next(filter(None, (_replaced(node, case, before) for node, case in cases.items())), "")


def _replaced(node: str, case: Case, before: Run | None) -> str:
    """A test whose setup failed at the base was not called there: then its own file must define what runs now."""
    was = before.cases.get(node) if before else None
    is_as_before = was is not None and (was.origin, was.name) == (case.origin, case.name)
    return "" if is_as_before or is_its_own(node, case) else f"what runs as {node} is {case.name} of {case.origin}"
