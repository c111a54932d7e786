"""Turns the result of a hearing into a verdict."""

from supervisor.model.job import Job
from supervisor.model.node import cases_of
from supervisor.model.outcome import SUCCESSES, Outcome
from supervisor.model.verdict import Verdict, Verification
from supervisor.verification.hearing import Hearing
from supervisor.verification.rules.places import kind_of
from supervisor.verification.trials.runs import Run


def rejected(job: Job, verification: Verification, reason: str, *, runs: int = 0, passed: int = 0) -> Verdict:
    """A claim of success becomes a failure; any other claim stands, but its work does not count."""
    detail = f"{verification}: {reason}"
    if job.brought.claim not in SUCCESSES:
        return Verdict(job.brought.claim, job.detail, verification, reason, runs, passed)
    return Verdict(Outcome.FAILED, detail, verification, reason, runs, passed)


def verified(hearing: Hearing) -> Verdict:
    job, before = hearing.job, hearing.before
    relabelled, notes = {}, []
    for commit in hearing.work.commits:
        if (kind := kind_of(commit.kind, commit.paths, job.test)) != commit.kind:
            relabelled[commit.sha] = kind
            notes.append(f"[{commit.kind or '?'}] {commit.sha[:10]} is {kind} by what it changes")
    return Verdict(
        job.brought.claim,
        joined(job.detail, *notes),
        "verified",
        joined(hearing.counted, *([] if before else ["the rest of its file was not run"]), *notes),
        runs=len(hearing.runs),
        passed=hearing.passed,
        failed_before=failed(before, job.test),
        relabelled=relabelled,
        doubts=hearing.doubts,
        evidence=hearing.evidence,
    )


def failed(before: Run | None, test: str) -> bool | None:
    """Whether the test failed there; None: unknown."""
    found = {case.result for case in cases_of(before.cases, test).values()} if before else set()
    return None if not found or "skipped" in found else "failed" in found


def joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
