"""Which jobs have work to integrate, which of it qualifies, and in which order it is merged. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from supervisor.integration.rules.ledger import ChangeRow
from supervisor.integration.rules.siblings import helped
from supervisor.integration.rules.work import Evidence, Unit, Work, brought
from supervisor.model.batch import Batch
from supervisor.model.change import IMPLEMENTATION, Change, ChangeKey
from supervisor.model.job import Job
from supervisor.model.ledger import Fate
from supervisor.model.outcome import Outcome
from supervisor.model.publication import ChangeClaim, Statement
from supervisor.model.verdict import UNPROVEN
from supervisor.verification.rules.places import Allowed, kind_of
from supervisor.verification.rules.policy import may_edit

SUCCESSES = frozenset({Outcome.FIXED, Outcome.IMPROVED, Outcome.CLEAN})


def work_of(batch: Batch, job: Job, report: Statement | None, changes: Sequence[Change]) -> Work:
    """A job's work. `report` None: the agent's outcome is not readable any more, so only the commits count."""
    if report is None:
        report = Statement(tuple(ChangeClaim(change.kind, "SUCCEEDED") for change in changes))
    kinds = {change.sha: kind_of(change.kind, change.paths, job.test) for change in changes}
    relabelled = {change.kind: kinds[change.sha] for change in changes if kinds[change.sha] != change.kind}
    claims = {claim.kind: claim for claim in report.changes}
    # A claim about a relabelled change is moved to its new kind.
    moved = {new: replace(claims[old], kind=new) for old, new in relabelled.items() if old in claims}
    return brought(
        job.number,
        job.test,
        replace(report, changes=tuple({**moved, **claims}.values())),
        tuple(replace(change, kind=kinds[change.sha]) for change in changes),
        rejected=why_not(batch, job, changes),
        evidence=Evidence(job.verdict.failed_before, job.verdict.passed, job.verdict.runs),
        doubts=job.verdict.doubts,
    )


def why_not(batch: Batch, job: Job, changes: Sequence[Change]) -> str:
    """Why a job's work may not be merged; "" if it may.

    Cases: it is not verified; its own agent does not call it a success; verification is off and policy forbids it."""
    if job.verdict.verification in UNPROVEN:
        return f"{job.verdict.verification}: {job.verdict.reason}"
    if job.verdict.verification not in ("verified", "not-needed"):
        return f"not verified: {job.detail}" if job.detail else "not verified"
    if job.outcome not in SUCCESSES:
        return f"its agent calls it {job.outcome}"
    allowed = Allowed(batch.profile.allow_paths, batch.profile.deny_paths)
    paths = (path for change in changes for path in change.paths)
    return next((f"it edits {path}, which agents may not" for path in paths if not may_edit(path, allowed)), "")


def proves(batch: Batch) -> bool:
    """Whether tests are run on the batch's branches."""
    return batch.role == "tester" and batch.profile.verify_runs > 0


def must_pass(batch: Batch, rows: Iterable[ChangeRow]) -> tuple[str, ...]:
    """The tests that passed verification and so must pass on the branch; empty if verification is off.

    They are those that needed no work, those whose work is on the branch, and those that need a sibling's that is."""
    if not proves(batch):
        return ()
    there = {row.change.job for row in rows if row.fate in (Fate.MERGED, Fate.DUPLICATE)}
    proved = [
        job for job in batch.touched.values() if job.verdict.verification == "verified" and job.outcome in SUCCESSES
    ]
    proved = [*(job for job in proved if not job.brought.head or job.number in there), *helped(batch, there)]
    tests = [(job.number, job.test) for job in proved]
    return tuple(test for _, test in sorted(tests))


@dataclass(frozen=True, slots=True)
class Plan:
    """One unit for each job that qualifies."""

    #: in job order, the order in which their tests are squashed
    units: tuple[Unit, ...]
    #: units with fixes, the most useful first
    ranked: tuple[Unit, ...]
    #: why a change was left out
    rejected: dict[ChangeKey, str]

    @property
    def jobs(self) -> tuple[int, ...]:
        """The jobs in the order in which they are picked, best rank first."""
        only_tests = (unit.job for unit in self.units if not unit.fixes)
        return (*only_tests, *(unit.job for unit in self.ranked))


def planned(works: Iterable[Work]) -> Plan:
    """Plan an integration. The order of `works` does not matter."""
    rejected: dict[ChangeKey, str] = {}
    units: list[Unit] = []
    for work in sorted(works, key=lambda work: work.job):
        out = _left_out(work)
        rejected |= {change.key: out[change.sha] for change in work.changes if change.sha in out}
        if kept := tuple(change for change in work.changes if change.sha not in out):
            without = {path for change in work.changes if change.sha in out for path in change.paths}
            units.append(_unit(work, kept, frozenset(without)))
    makers = _makers(units)
    fixing = [unit for unit in units if unit.fixes]
    return Plan(tuple(units), tuple(sorted(fixing, key=lambda unit: _rank(unit, makers))), rejected)


def reordered(plan: Plan, shas: Sequence[str]) -> tuple[Unit, ...]:
    """The ranked units in the order of a list of changes; units that it does not name follow in their old order."""
    places = {sha: place for place, sha in reversed(list(enumerate(shas)))}

    def place(unit: Unit) -> int:
        return min((places[fix.sha] for fix in unit.fixes if fix.sha in places), default=len(shas))

    return tuple(sorted(plan.ranked, key=place))


def rejection(work: Work, change: Change) -> str:
    """Why this change may not be merged; "" if it may."""
    if work.rejected:
        return work.rejected
    if work.errored:
        return "its agent reports an error"
    if work.passing_before and work.passing_after is False:
        return "its test passed before the change and fails after it"
    if change.kind in work.failed_kinds:
        return "its agent reports that it failed"
    return ""


def _left_out(work: Work) -> dict[str, str]:
    """The changes of a job to leave out, with the reasons.

    The work was verified as a whole: a failed change is left out alone only if it is outside the implementation and
    in files of its own. Otherwise all changes are left out."""
    out = {change.sha: why for change in work.changes if (why := rejection(work, change))}
    kept = [change for change in work.changes if change.sha not in out]
    if not out or not kept:
        return out
    shared = {path for change in kept for path in change.paths}
    for change in work.changes:
        if change.sha in out and not (change.is_test and shared.isdisjoint(change.paths)):
            why = f"it was verified together with {change.sha}, which failed according to its agent"
            return out | {each.sha: why for each in kept}
    return out


def _unit(work: Work, kept: tuple[Change, ...], without: frozenset[str]) -> Unit:
    """A job's unit. If tests and fixes share a file, they can't be separated and stay in the job's own order."""
    tests = tuple(change for change in kept if change.is_test)
    fixes = tuple(change for change in kept if not change.is_test)
    fixed = {path for change in fixes for path in change.paths}
    if any(not fixed.isdisjoint(change.paths) for change in tests):
        tests, fixes = (), kept
    return Unit(work.job, work.head, tests, fixes, without)


def _makers(units: Iterable[Unit]) -> dict[str, set[int]]:
    """Which jobs have a fix that looks the same: a hint for the rank. Picking finds the real duplicates."""
    makers: dict[str, set[int]] = {}
    for unit in units:
        for fix in unit.fixes:
            makers.setdefault(fix.patch_id, set()).add(unit.job)
    return makers


def _rank(unit: Unit, makers: dict[str, set[int]]) -> tuple[bool, int, int, int]:
    """Labelled fixes first; then those that most jobs found; then those with the fewest paths; then by job."""
    labelled = any(fix.kind == IMPLEMENTATION for fix in unit.fixes)
    found = max(len(makers[fix.patch_id]) for fix in unit.fixes)
    paths = {path for fix in unit.fixes for path in fix.paths}
    return (not labelled, -found, len(paths), unit.job)
