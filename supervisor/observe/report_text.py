"""The report for a terminal: plain text without colours or control characters."""

from collections.abc import Iterator, Mapping

from supervisor.observe.commit_review import CommitReview, counted, progress
from supervisor.observe.report import Escalated, JobReport, Report, Standing
from supervisor.observe.report_evidence import told
from supervisor.observe.survey import in_words

#: standings whose jobs are listed; the others are only counted
TOLD = tuple(each for each in Standing if each not in (Standing.CLEAN, Standing.WAITING, Standing.NEVER_STARTED))
MOST_JOBS = 50
WIDTH = 116
_INDENT = "    "


def text(report: Report) -> str:
    parts = [
        "\n".join(_head(report)),
        _section("NEXT", (f"- {line(step, 400)}" for step in report.next)),
        _section("LOOK FIRST", (row for job in report.doubtful for row in _doubts(job))),
        _section("BRANCH", (f"- {line(note, 400)}" for note in report.notes)),
        _section("DROPPED", (line(row, 400) for each in report.commits for row in _dropped(each))),
        _section("PROBLEMS", (f"- {line(problem, 400)}" for problem in report.problems)),
        _section("FLAKY AT THE BASE", (line(test) for test in (report.survey or {}).get("flaky_tests", ()))),
        _section("FAILED BY CAUSE", (_failure(each.count, each.cause, each.jobs) for each in report.failures)),
        _section("ESCALATIONS", (row for each in report.escalations for row in _escalation(each))),
        *(_standing(report, each) for each in TOLD),
        _section("INTEGRATOR", _job(report.integrator) if report.integrator else iter(())),
        _section(
            "SLOWEST", (f"{duration(each.seconds):>12}  {each.job}  {line(each.test)}" for each in report.slowest)
        ),
        _section("REVIEW", (line(command, 1000) for command in report.review)),
    ]
    return "\n\n".join(part for part in parts if part)


def _head(report: Report) -> Iterator[str]:
    batch, tokens = report.batch, report.tokens
    yield f"batch {batch.id}: {batch.state}, {duration(batch.seconds)}, profile {line(batch.profile)}"
    yield f"  repository  {line(batch.repo)} at {batch.base[:12]}"
    if known := in_words(report.survey):
        yield f"  the base    {line(known)}"
    if batch.stopped:
        yield f"  stopped     {line(batch.stopped)}"
    yield f"  submitted   {report.submitted}: {_counts(report.counts)}"
    if report.unmerged:
        yield f"  not merged  {_counts(report.unmerged)}, of the fixed and improved"
    if any(report.ledger.values()):
        yield f"  ledger      {_counts(report.ledger)}"
    if batch.branch:
        yield f"  branch      {line(batch.branch)}"
    elif batch.so_far is not None:
        yield f"  so far      {line(batch.so_far.told(report.submitted))}"
    if (counts := counted(report.commits))["total"] > counts["unreviewed"]:
        yield f"  review      {progress(counts)}"
    if batch.pull_request:
        yield f"  offered at  {line(batch.pull_request)}"
    taken = f"{number(tokens.input)} in, {number(tokens.output)} out, {number(tokens.cached)} cached"
    each = f"; {number(tokens.per_success)} for each test fixed or improved" if tokens.per_success else ""
    yield f"  tokens      {taken}{each}"
    if report.selector:
        yield f"  selector    {line(report.selector, 400)}"
    if report.hindrances:
        yield f"  hindered    {_counts(report.hindrances)}"


def _section(title: str, rows: Iterator[str]) -> str:
    listed = list(rows)
    return "\n".join([title, *(f"  {row}" for row in listed)]) if listed else ""


def _doubts(job: JobReport) -> Iterator[str]:
    yield f"{job.id}  {line(job.test)}{'' if job.merged else '  [not on the branch]'}"
    yield from (f"{_INDENT}{line(doubt, 400)}" for doubt in job.doubts)


def _dropped(commit: CommitReview) -> Iterator[str]:
    if commit.state != "dropped" and not commit.is_out:
        return
    who = f" by {commit.by}" if commit.by else ""
    why = f": {commit.reason}" if commit.reason else ""
    then = f"reverted by {commit.reverted_by[:12]}" if commit.reverted_by else "not on the branch any more"
    what = f"still on the branch: {commit.problem}" if commit.problem else then if commit.is_out else "on the branch"
    yield f"{commit.commit[:12]} {commit.state}{who}{why} ({what})"


def _failure(count: int, cause: str, jobs: tuple[str, ...]) -> str:
    more = ", …" if count > len(jobs) else ""
    return f"{count:>4}  {line(cause)}  ({', '.join(jobs)}{more})"


def _escalation(each: Escalated) -> Iterator[str]:
    often = f" ({each.count} times)" if each.count > 1 else ""
    yield f"{line(each.kind, 40)}: {line(each.title)}{often}  {', '.join(each.jobs)}"
    if each.detail and line(each.detail) != line(each.title):
        yield _INDENT + line(each.detail)
    if each.locations:
        yield f"{_INDENT}at {line(', '.join(each.locations))}"


def _standing(report: Report, standing: Standing) -> str:
    jobs = report.having(standing)
    rows = [row for job in jobs[:MOST_JOBS] for row in _job(job)]
    more = [f"… and {len(jobs) - MOST_JOBS} more"] if len(jobs) > MOST_JOBS else []
    return _section(f"{standing.words.upper()} ({len(jobs)})", iter(rows + more))


def _job(job: JobReport) -> Iterator[str]:
    dropped = f", dropped by {line(job.dropped_by, 80)}" if job.dropped_by else ""
    yield f"{job.id}  {line(job.test)}{f'  [{job.ledger}{dropped}]' if job.ledger else ''}"
    for doubt in job.doubts:
        yield f"{_INDENT}doubt     {line(doubt)}"
    if said := job.summary or job.detail:
        yield _INDENT + line(said)
    if job.changes:
        kinds = ", ".join(f"{line(change.kind, 40)} {change.status.lower()}" for change in job.changes)
        yield f"{_INDENT}changes   {kinds}; commits: {job.commits}, up to {job.head[:12] or '-'}"
    if checked := verified(job):
        yield f"{_INDENT}checked   {line(checked)}"
    if shown := told(job.evidence):
        yield f"{_INDENT}evidence  {line(shown)}"
    if job.ledger_detail:
        yield f"{_INDENT}ledger    {line(job.ledger_detail)}"
    spent = job.seconds
    times = f"{duration(spent.queued)} queued, {duration(spent.worked)} worked, {duration(spent.waited)} waited"
    tokens = job.tokens.input + job.tokens.output + job.tokens.cached
    attempts = f"{len(job.attempts)} attempts, " if len(job.attempts) > 1 else ""
    yield f"{_INDENT}spent     {attempts}{times}, {number(tokens)} tokens"


def verified(job: JobReport) -> str:
    """`verified: failed before, passed 2 of 2 runs after`; "" if nothing was checked."""
    checked = job.verification
    if not checked.verdict or (checked.verdict == "not-needed" and not checked.runs):
        return ""
    before = {True: "failed before", False: "passed before", None: ""}[checked.failed_before]
    after = f"passed {checked.passed} of {checked.runs} runs after" if checked.runs else ""
    said = ", ".join(part for part in (before, after) if part)
    why = checked.reason if checked.verdict != "verified" else ""
    return ": ".join(part for part in (checked.verdict, said, why) if part)


def line(value: str, most: int = WIDTH) -> str:
    """An agent's text on one line, with unprintable characters replaced."""
    told = "".join(char if char.isprintable() else "�" for char in " ".join(value.split()))
    return told if len(told) <= most else told[: most - 1] + "…"


def number(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _counts(found: Mapping[str, int]) -> str:
    said = (f"{count} {word.replace('_', ' ')}" for word, count in found.items() if count)
    return ", ".join(said) or "none"
