"""The hearing of a claim: its stages run in order until one of them rejects the claim."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from supervisor.model.batch import Batch
from supervisor.model.evidence import Evidence
from supervisor.model.job import Job
from supervisor.model.node import cases_of, file_of, function_of
from supervisor.model.verdict import Verification
from supervisor.publication.rules.outcome import clean
from supervisor.verification.baselines import Baselines, tests_in
from supervisor.verification.evidence.asking import Claim, Findings, ask_all, certain
from supervisor.verification.rules.doubts import standing
from supervisor.verification.rules.judged import Doubt
from supervisor.verification.trials.asking import Place
from supervisor.verification.trials.runs import Run
from supervisor.verification.works import Changes

MAX_DOUBT = 400


@dataclass(frozen=True, slots=True)
class Rejection:
    verification: Verification
    reason: str


@dataclass(slots=True)
class Hearing:
    batch: Batch
    job: Job
    work: Changes
    #: our copy of the repository
    bare: Path
    trial: Place
    baselines: Baselines
    #: whether its runs are shared with other claims
    is_shared: bool = False
    #: if they are: whether its test passed in a run of its own; None: there was none
    passes_alone: bool | None = None
    #: a run of its whole file that was watched, and serves as the file's run if nothing is broken in it
    watched: Run | None = None
    #: the doubts of policy
    doubted: tuple[Doubt, ...] = ()
    #: plain runs of its test
    runs: list[Run] = field(default_factory=list)
    #: its file at the base, and now; None: it was not run
    before: Run | None = None
    after: Run | None = None
    #: its other cases that passed then and do not pass now
    broken: frozenset[str] = frozenset()
    #: what follows if its results at the base are unknown, or known only in part
    unknown: str = ""
    findings: Findings = field(default_factory=lambda: Findings(Evidence()))

    async def rejection(self) -> Rejection | None:
        """None: the claim holds."""
        for stage in STAGES:
            if rejection := await stage(self):
                return rejection
        return None

    @property
    def passed(self) -> int:
        return sum(run.passed for run in self.runs)

    @property
    def counted(self) -> str:
        return f"passed {self.passed} of {len(self.runs)}"

    @property
    def by_chance(self) -> Rejection:
        """Only some of its runs passed."""
        others = [run for run in self.runs if not run.held] or [run for run in self.runs if not run.passed]
        return Rejection("flaky", f"{self.counted}: {others[0].why_not}")

    @property
    def doubts(self) -> tuple[str, ...]:
        """The doubts of policy that no run settles, then those that runs raise."""
        unknown = (self.unknown,) if self.unknown else ()
        found = (*standing(self.doubted, self.findings.settled), *self.raised, *unknown)
        return tuple(dict.fromkeys(clean(each, MAX_DOUBT) for each in found))

    @property
    def raised(self) -> tuple[str, ...]:
        """The doubts that its own runs raise."""
        if self.after is None or self.together:
            return self.findings.doubts
        failed = [each for each in cases_of(self.after.cases, self.job.test).values() if each.result != "passed"]
        why = failed[0].message or failed[0].result if failed else self.after.why_not
        return (*self.findings.doubts, f"its test passes alone, and not in a run of its whole file: {why}")

    @property
    def together(self) -> bool | None:
        """Whether its test passes with the rest of its file; None: not tried."""
        if self.after is None:
            return None
        found = cases_of(self.after.cases, self.job.test)
        return bool(found) and all(case.result == "passed" for case in found.values())

    @property
    def evidence(self) -> Evidence:
        alone = self.passes_alone if self.is_shared else bool(self.runs) and self.passed == len(self.runs)
        shown, runs = self.findings.evidence, len(self.trial.runs)
        return replace(shown, runs=runs, saved=self.trial.saved, alone=alone, together=self.together)


async def _runs(hearing: Hearing) -> Rejection | None:
    """Some cases may be skipped: `_facts` tells whether that is new."""
    batch, job = hearing.batch, hearing.job
    times = batch.cases_of(job.number)
    hearing.runs = await hearing.trial.run_again(job.test, batch.profile.verify_runs, times)
    held = sum(run.held for run in hearing.runs)
    if not held:
        return Rejection("unverified", hearing.runs[0].why_not)
    return hearing.by_chance if held < len(hearing.runs) else None


async def _file(hearing: Hearing) -> Rejection | None:
    """Finds the other cases of its file that passed at the base and pass in neither of two runs now. If the file's
    run at the base was incomplete, what fails now may or may not be due to the work."""
    batch, test = hearing.batch, hearing.job.test
    baseline = await hearing.baselines.of(batch, test)
    hearing.before = baseline.run
    before = hearing.before.cases if hearing.before else {}
    own = cases_of(before, function_of(test))
    broken = {each for each, case in before.items() if case.result == "passed" and each not in own}
    if hearing.watched is not None and _is_green(hearing.watched, broken, test):
        hearing.after, broken = hearing.watched, set()
    for _ in range(2):
        if not broken:
            break
        file = await hearing.trial.run(file_of(test), times=tests_in(batch, test))
        if file.session is None:
            return Rejection("unverified", f"it breaks its file: {file.why_not}")
        hearing.after = hearing.after or file
        broken = _broken(broken, file)
    hearing.broken = frozenset(broken)
    if why := hearing.before.cut_short if hearing.before else baseline.why_not:
        hearing.after = hearing.after or await hearing.trial.run(file_of(test), times=tests_in(batch, test))
        hearing.unknown = _unknown(why, hearing.before, hearing.after, function_of(test))
    return None


def _is_green(file: Run, others: Iterable[str], test: str) -> bool:
    own = cases_of(file.cases, test).values()
    return bool(own) and all(case.result == "passed" for case in own) and not _broken(others, file)


def _broken(cases: Iterable[str], file: Run) -> set[str]:
    return {each for each in cases if each not in file.cases or file.cases[each].result != "passed"}


def _unknown(why: str, before: Run | None, after: Run, test: str) -> str:
    """A sentence, or "" if it does not matter: in a file that passes, nothing is broken."""
    at_base = f"what its file came to at the base is not known ({why})"
    if before is None:
        return f"{at_base}, so nothing was compared with that"
    if after.cut_short or after.session is None:
        return f"{at_base}, nor what it comes to now ({after.why_not})"
    known = {*before.cases, *cases_of(after.cases, test)}
    failing = [each for each, case in after.cases.items() if case.result == "failed" and each not in known]
    named = ", ".join(sorted(each.partition("::")[2] for each in failing)[:3])
    return f"{at_base}, so {named} may have passed there, and fails now" if failing else ""


async def _facts(hearing: Hearing) -> Rejection | None:
    """Certain facts come first: they may explain why other tests are broken."""
    if found := certain(hearing.job.test, hearing.before, hearing.runs, hearing.after):
        return Rejection("refused", "; ".join(dict.fromkeys(found[:3])))
    if skipped := [run for run in hearing.runs if not run.passed]:
        return Rejection("unverified", skipped[0].why_not)
    named = ", ".join(sorted(each.partition("::")[2] for each in hearing.broken)[:3])
    return Rejection("unverified", f"it breaks {named}") if named else None


async def _questions(hearing: Hearing) -> Rejection | None:
    if not hearing.batch.profile.evidence_factor:
        return None
    batch, job = hearing.batch, hearing.job
    paths = tuple(file.path for file in hearing.work.files)
    claim = Claim(batch, job, hearing.trial, hearing.bare, paths, hearing.is_shared)
    doubted = frozenset(each.settled_by for each in hearing.doubted)
    hearing.findings = await ask_all(claim, hearing.runs, hearing.before, hearing.after, doubted)
    return Rejection("refused", hearing.findings.refusal) if hearing.findings.refusal else None


async def _again(hearing: Hearing) -> Rejection | None:
    """A test that passed, and then failed where nothing was changed, may pass by chance: it runs as often again."""
    has_failed = hearing.findings.fails_watched or hearing.together is False
    if hearing.is_shared or not has_failed:
        return None
    batch, job = hearing.batch, hearing.job
    runs = await hearing.trial.run_again(job.test, batch.profile.verify_runs, batch.cases_of(job.number))
    hearing.runs += [run for run in runs if not run.cut_short]
    return hearing.by_chance if hearing.passed < len(hearing.runs) else None


STAGES: tuple[Callable[[Hearing], Awaitable[Rejection | None]], ...] = (_runs, _file, _facts, _questions, _again)
