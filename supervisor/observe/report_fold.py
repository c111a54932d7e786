"""Folds a batch, its history and its attempts' kept files into a report. Pure, except `kept`."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from supervisor.foresight.auditing import audit
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job, JobState
from supervisor.model.ledger import Fate
from supervisor.model.outcome import Outcome
from supervisor.model.publication import Escalation, Statement
from supervisor.model.usage import Usage
from supervisor.model.verdict import Verdict
from supervisor.observe import report_advice as advice
from supervisor.observe import survey
from supervisor.observe.report import (
    AttemptFiles,
    BatchFacts,
    Change,
    Checked,
    Escalated,
    Failure,
    History,
    JobHistory,
    JobReport,
    Kept,
    Report,
    Run,
    Slow,
    Spent,
    Standing,
    Tokens,
)
from supervisor.observe.snapshot import rfc3339

MOST_TEXT = 4_000
MOST_TITLE = 300
MOST_NAMED = 20
SLOWEST = 5
#: maximum number of jobs whose log is quoted; those that need a look come first
MOST_EXCERPTS = 300
#: kinds of escalations in reading order; other kinds follow
KINDS = ("BLOCKER", "UNCAUGHT_BUG", "HARNESS_DEFECT", "SHARED_PATTERN")

_SUCCESSES = (Standing.FIXED, Standing.IMPROVED)
_NOT_MERGED = (Fate.CONFLICT, Fate.REJECTED, Fate.RESCUED)
_AT_EASE = (Standing.FIXED_BY_SIBLING, Standing.CLEAN, Standing.WAITING, Standing.NEVER_STARTED)
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\b0x[0-9a-f]+\b|\b[0-9a-f]{7,40}\b|\d+(\.\d+)?|/\S+")


def kept(files: AttemptFiles, batch: Batch) -> dict[int, Kept]:
    """The kept files of each job's last attempt that published, and the end of the last attempt's log. It blocks."""
    found: dict[int, Kept] = {}
    jobs = sorted(batch.begun(), key=lambda job: job.number)
    for job in jobs:
        for attempt in range(job.attempts, 0, -1):
            key = AttemptKey(batch.id, job.number, attempt)
            if (outcome := files.outcome(key)) is not None:
                found[job.number] = Kept(attempt, outcome, files.artifacts(key))
                break
    quoted = [job for job in jobs if job.attempts and standing(batch, job) not in _AT_EASE]
    quoted.sort(key=lambda job: (standing(batch, job) in _SUCCESSES, job.number))
    for job in quoted[:MOST_EXCERPTS]:
        heard = found.get(job.number, Kept(0))
        excerpt = files.excerpt(AttemptKey(batch.id, job.number, job.attempts))
        found[job.number] = Kept(heard.attempt, heard.outcome, heard.artifacts, excerpt)
    return found


def report(batch: Batch, history: History, files: Mapping[int, Kept], now: float) -> Report:
    def told(job: Job) -> JobReport:
        past = history.jobs.get(job.number) or _known(batch, job)
        return _job(batch, job, past, files.get(job.number, Kept(0)))

    jobs = tuple(map(told, batch.jobs()))
    found = Counter(job.standing for job in jobs)
    counts = {each.value: found[each] for each in Standing}
    fates = Counter(row.fate for row in batch.ledger.values())
    failures, escalations = _failures(jobs), tuple(_escalated(batch, files))
    facts = _facts(batch, history, now)
    return Report(
        as_of=rfc3339(now) or "",
        batch=facts,
        submitted=len(jobs),
        counts=counts,
        failures=failures,
        ledger={fate.value: fates[fate] for fate in Fate},
        tokens=_tokens(batch.usage, sum(counts[each] for each in _SUCCESSES)),
        hindrances=history.hindrances,
        escalations=escalations,
        slowest=_slowest(jobs),
        problems=history.problems,
        notes=history.notes,
        survey=survey.view(batch.survey),
        unmerged=_unmerged(jobs),
        review=advice.review(facts, jobs),
        next=tuple(advice.next_steps(facts, jobs, escalations, history)),
        jobs=jobs,
        integrator=told(batch.integrator) if batch.integrator else None,
        selector=audit(
            (job.test, job.verdict.failed_before) for job in map(batch.job, sorted(batch.origin.audited))
        ).sentence,
    )


def standing(batch: Batch, job: Job) -> Standing:
    """The standing of a job. A job without any attempt never started, rather than being cancelled."""
    match job.state:
        case JobState.CANCELLED:
            return Standing.CANCELLED if job.attempts else Standing.NEVER_STARTED
        case JobState.PARKED:
            return Standing.PARKED
        case JobState.QUEUED | JobState.HELD:
            return Standing.NEVER_STARTED if batch.finished_at is not None else Standing.WAITING
        case JobState.DONE:
            return _ended(job)
    return Standing.WORKING


def _ended(job: Job) -> Standing:
    if job.verdict.verification == "flaky":
        return Standing.FLAKY
    match job.outcome:
        case Outcome.FIXED_BY_SIBLING:
            return Standing.FIXED_BY_SIBLING
        case Outcome.FIXED | Outcome.IMPROVED | Outcome.CLEAN | Outcome.BLOCKED:
            return Standing(job.outcome.value)
        case Outcome.CANCELLED:
            return Standing.CANCELLED if job.attempts else Standing.NEVER_STARTED
    return Standing.FAILED


# --- a job


def _job(batch: Batch, job: Job, past: JobHistory, heard: Kept) -> JobReport:
    row, told = batch.ledger.get(job.number), heard.outcome or Statement()
    how = standing(batch, job)
    merged = row is not None and row.fate in (Fate.MERGED, Fate.DUPLICATE)
    return JobReport(
        id=batch.job_id(job.number),
        test=job.test or "the integrator",
        standing=how.value,
        cause=_cause(job) if how is Standing.FAILED else "",
        detail=_cut(job.detail, MOST_TITLE),
        summary=_cut(told.blocked or told.summary),
        told_in=heard.attempt,
        changes=tuple(Change(change.kind, change.status, _cut(change.summary)) for change in told.changes),
        commits=job.brought.commits,
        head=job.brought.head,
        ref=_ref(batch, job, heard) if job.brought.head else "",
        ledger=row.fate.value if row else "",
        ledger_detail=_cut(row.detail, MOST_TITLE) if row else "",
        merged=row.commits if row is not None and merged else (),
        verification=Checked(
            job.verdict.verification,
            _cut(job.verdict.reason, MOST_TITLE),
            job.verdict.runs,
            job.verdict.passed,
            job.verdict.failed_before,
        ),
        doubts=tuple(_cut(doubt, MOST_TITLE) for doubt in (*job.verdict.doubts, *(row.doubts if row else ()))),
        evidence=job.verdict.evidence,
        runs=tuple(Run(run.name, _cut(run.description, MOST_TITLE)) for run in told.test_runs[:MOST_NAMED]),
        artifacts=heard.artifacts[:MOST_NAMED],
        excerpt=heard.excerpt,
        attempts=past.tries,
        agent=job.agent,
        tokens=_tokens(job.usage, 0),
        tool_calls=job.usage.tool_calls,
        model=job.usage.model,
        seconds=past.seconds,
    )


def _ref(batch: Batch, job: Job, heard: Kept) -> str:
    folder = f"refs/supervisor/{batch.id}/{job.number}"
    return f"{folder}/{job.attempts}" if heard.attempt == job.attempts else f"{folder}/rescued/{job.attempts}"


def _cause(job: Job) -> str:
    """Why it failed, in the same words for the same cause."""
    match job.verdict.verification, job.outcome:
        case "refused", _:
            return f"refused: {job.verdict.reason.partition(':')[0]}"
        case "unverified", _:
            return "the fix failed its verification"
        case _, Outcome.TIMED_OUT:
            return "ran out of time"
        case _, Outcome.STALLED:
            return "its agent did nothing for too long"
        case _, Outcome.LOST:
            return "its agent ended without publishing"
    line = " ".join(_VARYING.sub("…", job.detail).split())
    return _cut(line, 100) or "gave no reason"


def _known(batch: Batch, job: Job) -> JobHistory:
    """A job's history from the job alone, if there are no events."""
    if job.times.launched is None:
        return JobHistory()
    worked = (job.times.published or job.times.ended or job.times.launched) - job.times.launched
    return JobHistory((), Spent(round(job.times.launched - batch.created_at, 1), round(max(0.0, worked), 1)))


# --- the batch


def _facts(batch: Batch, history: History, now: float) -> BatchFacts:
    return BatchFacts(
        id=batch.id,
        state=batch.state.value,
        repo=batch.repo,
        base=batch.base,
        branch=batch.result.branch,
        profile=batch.profile.name,
        author=batch.origin.author,
        created_at=rfc3339(batch.created_at) or "",
        finished_at=rfc3339(batch.finished_at),
        seconds=round((batch.finished_at or now) - batch.created_at, 1),
        pull_request=history.pull_request,
        stopped=batch.stop.detail,
        so_far=batch.integrations.so_far,
        per=batch.profile.per,
    )


def _tokens(usage: Usage, successes: int) -> Tokens:
    each = usage.tokens // successes if successes else None
    return Tokens(usage.input, usage.output, usage.cached, each)


def _unmerged(jobs: Iterable[JobReport]) -> dict[str, int]:
    return dict(Counter(job.ledger for job in jobs if job.standing in _SUCCESSES and job.ledger in _NOT_MERGED))


def _failures(jobs: Iterable[JobReport]) -> tuple[Failure, ...]:
    """The failures by cause, the most frequent first."""
    alike: dict[str, list[str]] = {}
    for job in jobs:
        if job.cause:
            alike.setdefault(job.cause, []).append(job.id)
    found = [Failure(cause, len(ids), tuple(ids[:MOST_NAMED])) for cause, ids in alike.items()]
    return tuple(sorted(found, key=lambda failure: -failure.count))


def _slowest(jobs: Sequence[JobReport]) -> tuple[Slow, ...]:
    worked = sorted((job for job in jobs if job.seconds.worked), key=lambda job: -job.seconds.worked)
    return tuple(Slow(job.id, job.test, job.seconds.worked) for job in worked[:SLOWEST])


def _escalated(batch: Batch, files: Mapping[int, Kept]) -> Iterator[Escalated]:
    """Escalations grouped by title: blockers first, then those of the most jobs."""
    groups: dict[tuple[str, str], list[tuple[str, Escalation]]] = {}
    for number, heard in sorted(files.items()):
        for escalation in _escalations(heard.outcome):
            alike = (escalation.kind, " ".join(escalation.title.casefold().split()).rstrip(".!"))
            groups.setdefault(alike, []).append((batch.job_id(number), escalation))

    def rank(item: tuple[tuple[str, str], list[tuple[str, Escalation]]]) -> tuple[int, int]:
        (kind, _), members = item
        return KINDS.index(kind) if kind in KINDS else len(KINDS), -len({job for job, _ in members})

    for (kind, _), members in sorted(groups.items(), key=rank):
        ids = tuple(dict.fromkeys(job for job, _ in members))
        places = dict.fromkeys(place for _, each in members for place in each.locations)
        first = members[0][1]
        longest = max((each.detail for _, each in members), key=len)
        yield Escalated(
            kind, _cut(first.title, MOST_TITLE), len(ids), ids[:MOST_NAMED], _cut(longest), tuple(places)[:MOST_NAMED]
        )


def _escalations(told: Statement | None) -> Iterator[Escalation]:
    """An agent's escalations. If it is blocked and does not escalate that, it counts as a blocker."""
    if told is None:
        return
    yield from told.escalations
    if told.blocked and not any(each.kind == "BLOCKER" for each in told.escalations):
        title = next((line for line in told.blocked.splitlines() if line.strip()), told.blocked)
        yield Escalation("BLOCKER", title.strip(), told.blocked)


def _cut(text: str, most: int = MOST_TEXT) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _checked(verdict: Verdict) -> Checked:
    reason = _cut(verdict.reason, MOST_TITLE)
    return Checked(verdict.verification, reason, verdict.runs, verdict.passed, verdict.failed_before)
