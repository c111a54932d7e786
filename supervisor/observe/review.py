"""The commits of a batch's branch in the order in which to read them, with what people said of each. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from supervisor.model.ledger import ON_BRANCH, LedgerRow
from supervisor.model.review import Opinion, Review, Verdict
from supervisor.observe.commit_review import CommitReview
from supervisor.observe.report import JobReport, Report
from supervisor.observe.report_evidence import told
from supervisor.observe.report_text import verified
from supervisor.observe.snapshot import View, rfc3339

_KIND = re.compile(r"\[([A-Z_/]{1,40})\] ")
_NOBODY = Opinion(Verdict.UNREVIEWED, "", 0.0)


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A commit of the branch: its subject, the jobs whose work it contains, and its review."""

    known: CommitReview
    subject: str
    jobs: tuple[JobReport, ...]

    @property
    def kind(self) -> str:
        """The kind of change, from the beginning of its subject; "" if the subject has none."""
        found = _KIND.match(self.subject)
        return found[1] if found else ""

    @property
    def doubts(self) -> tuple[str, ...]:
        return tuple(doubt for job in self.jobs for doubt in job.doubts)

    @property
    def view(self) -> View:
        known = self.known
        return {
            "commit": known.commit,
            "subject": self.subject,
            "kind": self.kind,
            "doubts": list(self.doubts),
            "jobs": [_job(job) for job in self.jobs],
            "state": known.state,
            "by": known.by or None,
            "at": known.at,
            "reason": known.reason or None,
            "is_out": known.is_out,
            "reverted_by": known.reverted_by or None,
            "problem": known.problem or None,
        }


def _job(job: JobReport) -> View:
    return {"id": job.id, "test": job.test, "verified": verified(job), "evidence": told(job.evidence)}


def reviewed(report: Report, review: Review | None) -> Report:
    """The report with the review of its branch."""
    commits = tuple(_commits(report.jobs, review))
    jobs = tuple(replace(job, dropped_by=_dropped_by(job.merged, review)) for job in report.jobs)
    return replace(report, jobs=jobs, commits=commits)


def rows(report: Report, titles: Sequence[tuple[str, str]]) -> list[ReviewRow]:
    """The commits: those with doubts first, then in the order of the branch. `titles`: its commits with their
    subjects, in order; commits that are not among them come last."""
    by_id = {job.id: job for job in report.jobs}
    known = {each.commit: each for each in report.commits}
    order = dict.fromkeys([*(sha for sha, _ in titles), *known])
    subjects = dict(titles)
    found = [
        ReviewRow(each, subjects.get(sha, ""), tuple(by_id[job] for job in each.jobs))
        for sha in order
        for each in [known.get(sha) or CommitReview(sha, ())]
    ]
    return sorted(found, key=lambda row: not row.doubts)


def _commits(jobs: Sequence[JobReport], review: Review | None) -> list[CommitReview]:
    by_commit: dict[str, list[JobReport]] = {}
    for job in jobs:
        for sha in job.merged:
            by_commit.setdefault(sha, []).append(job)
    found = [_commit(sha, whose, review) for sha, whose in by_commit.items()]
    return sorted(found, key=lambda each: not each.doubts)


def _commit(sha: str, jobs: Sequence[JobReport], review: Review | None) -> CommitReview:
    known = CommitReview(sha, tuple(job.id for job in jobs), sum(len(job.doubts) for job in jobs))
    if review is None:
        return known
    opinion = review.opinions.get(sha, _NOBODY)
    return replace(
        known,
        state=opinion.verdict.value,
        by=opinion.author,
        at=rfc3339(opinion.at) if opinion.at else None,
        reason=opinion.reason,
        is_out=sha in review.taken_out,
        reverted_by=review.taken_out.get(sha, ""),
        problem=review.problems.get(sha, ""),
    )


def dropped_by(row: LedgerRow | None, review: Review | None) -> str:
    """Who dropped all that a job has on the branch; "": nobody."""
    return _dropped_by(row.commits if row is not None and row.fate in ON_BRANCH else (), review)


def _dropped_by(merged: Sequence[str], review: Review | None) -> str:
    if review is None or not merged:
        return ""
    opinions = [review.opinions.get(sha, _NOBODY) for sha in merged]
    if any(each.verdict is not Verdict.DROPPED for each in opinions):
        return ""
    return ", ".join(dict.fromkeys(each.author or "somebody" for each in opinions))
