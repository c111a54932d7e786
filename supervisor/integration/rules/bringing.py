"""Which jobs bring work to an integration, what it really is, and why it may not go in. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from supervisor.integration.rules.ledger import ChangeRow
from supervisor.integration.rules.work import Evidence, Work, brought
from supervisor.model.batch import Batch
from supervisor.model.change import Change
from supervisor.model.job import Job
from supervisor.model.ledger import Fate
from supervisor.model.outcome import Outcome
from supervisor.model.publication import ChangeClaim, Statement
from supervisor.model.verdict import UNPROVEN
from supervisor.verification.rules.places import Allowed, kind_of
from supervisor.verification.rules.policy import may_edit

SUCCESSES = frozenset({Outcome.FIXED, Outcome.IMPROVED, Outcome.CLEAN})


def work_of(batch: Batch, job: Job, report: Statement | None, changes: Sequence[Change]) -> Work:
    """`report` None: it can't be read any more, and the commits speak for themselves."""
    if report is None:
        report = Statement(tuple(ChangeClaim(change.kind, "SUCCEEDED") for change in changes))
    kinds = {change.sha: kind_of(change.kind, change.paths, job.test) for change in changes}
    relabelled = {change.kind: kinds[change.sha] for change in changes if kinds[change.sha] != change.kind}
    claims = {claim.kind: claim for claim in report.changes}
    # What is said of a change goes with it under its new name.
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
    """Cases: it was not proved; its own agent calls it no success; policy forbids it, where nobody verified."""
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
    """Whether tests are run on its branches."""
    return batch.role == "tester" and batch.profile.verify_runs > 0


def must_pass(batch: Batch, rows: Iterable[ChangeRow]) -> tuple[str, ...]:
    """The tests that were seen to pass, and so must pass on a branch: those that needed no work, and those whose work
    is on it. None where nothing is verified."""
    if not proves(batch):
        return ()
    there = {row.change.job for row in rows if row.fate in (Fate.MERGED, Fate.DUPLICATE)}
    proved = (
        job for job in batch.touched.values() if job.verdict.verification == "verified" and job.outcome in SUCCESSES
    )
    tests = [(job.number, job.test) for job in proved if not job.brought.head or job.number in there]
    return tuple(test for _, test in sorted(tests))
