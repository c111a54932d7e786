"""The words of a pull request: mechanical, from the report; what agents wrote is quoted, short and defused."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from supervisor.integration.review import marks
from supervisor.integration.review.quoting import MOST_WORDS, defused
from supervisor.integration.rules.messages import unlinked
from supervisor.observe.report import Escalated, JobReport, Report, Standing
from supervisor.observe.report_advice import alone
from supervisor.observe.report_text import number, verified

#: GitHub takes 65,536 letters: the rest is for what people add, and for what is dropped in their review
MOST_BODY = 50_000
MOST_FIXES, MOST_ESCALATIONS, MOST_OTHERS = 100, 40, 40
MOST_DOUBTFUL, MOST_DOUBTS = 40, 5
MOST_COMMITS = 20
NEXT = "\n\n"
#: stands in tables in this order
AT_WORK = (Standing.PARKED, Standing.WORKING, Standing.WAITING)
SHOWN = tuple(each for each in Standing if each not in AT_WORK)


@dataclass(frozen=True, slots=True)
class Superseded:
    """An earlier pull request, whose place this one takes."""

    number: int
    #: it had what was done so far of the same batch
    is_part: bool = False


def is_worth_it(report: Report) -> bool:
    """Something was merged, or somebody has to know of something; but not while the rest is at work."""
    return bool(report.ledger.get("merged") or (report.escalations and not _at_work(report)))


def title(report: Report) -> str:
    """`agent-supervisor overnight 2026-07-21: 12 fixed, 3 improved, 1 escalated`."""
    told = {each.words: report.counts.get(each, 0) for each in (Standing.FIXED, Standing.IMPROVED)}
    told |= {"of these not merged": sum(report.unmerged.values())}
    told |= {"escalated": len(report.escalations), "at work": _at_work(report)}
    said = ", ".join(f"{count} {word}" for word, count in told.items() if count) or "nothing done"
    return f"agent-supervisor {report.batch.profile} {report.batch.created_at[:10]}: {said}"


def body(report: Report, supersedes: Superseded | None = None) -> str:
    parts = [
        f"{marks.begin(report.batch.profile, report.batch.id)}\n{_opening(report)}",
        _superseding(supersedes) if supersedes else "",
        _table(("tests", "came out as"), _counts(report)),
        _section("Look at these first", _doubts(report)),
        _section("Escalations, blockers first", _escalations(report.escalations)),
        _section("On this branch, the most useful first", _fixes(report)),
        _section("Not on this branch", _others(report)),
        _section("About the branch", (f"- {defused(note)}" for note in report.notes)),
        _section("What it took", iter([_cost(report)])),
    ]
    return f"{_within(NEXT.join(part for part in parts if part))}{NEXT}{marks.END}"


# --- parts


def _opening(report: Report) -> str:
    batch = report.batch
    at_work, part = _at_work(report), ""
    if at_work:
        done = report.submitted - at_work
        part = (
            f"This is what {done} of them came to; {at_work} are still at work. When they are over, a branch with "
            "everything, on the same base, takes the place of this one. "
        )
    return (
        f"Batch `{batch.id}` put an agent on each of {report.submitted} tests, from `{batch.base[:12]}` on. {part}"
        f"Each commit says which job it is from and what the machine saw: {alone(report.notes)}. "
        f"`supervisorctl report {batch.id}` has the rest."
    )


def _superseding(earlier: Superseded) -> str:
    if earlier.is_part:
        return f"Supersedes #{earlier.number}, which has what was done of this batch before: close that one."
    return f"Supersedes #{earlier.number}, of the same profile."


def _at_work(report: Report) -> int:
    return sum(report.counts.get(each, 0) for each in AT_WORK)


def _counts(report: Report) -> Iterator[tuple[str, str]]:
    yield from ((str(report.counts[each]), each.words) for each in SHOWN if report.counts.get(each))
    if at_work := _at_work(report):
        yield str(at_work), "still at work"


def _section(heading: str, rows: Iterator[str]) -> str:
    listed = list(rows)
    return "\n".join([f"### {heading}", "", *listed]) if listed else ""


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [_row(head), _row(["---"] * len(head)), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _doubts(report: Report) -> Iterator[str]:
    """What no machine could decide."""
    for job in report.doubtful[:MOST_DOUBTFUL]:
        where = f" ({_commits(job)})" if job.merged else ", not on the branch"
        said = "; ".join(defused(doubt) for doubt in job.doubts[:MOST_DOUBTS])
        more = f"; and {len(job.doubts) - MOST_DOUBTS} more" if len(job.doubts) > MOST_DOUBTS else ""
        yield f"1. {_code(job.test)}{where}: {said}{more}"
    yield from _rest(len(report.doubtful), MOST_DOUBTFUL)


def _escalations(escalations: Sequence[Escalated]) -> Iterator[str]:
    for each in escalations[:MOST_ESCALATIONS]:
        often = f" ({each.count} jobs)" if each.count > 1 else ""
        detail = defused(each.detail)
        more = f": {detail}" if detail and detail != defused(each.title) else ""
        yield f"- **{defused(each.kind, 40)}** {defused(each.title)}{often}{more}"
    yield from _rest(len(escalations), MOST_ESCALATIONS)


def _fixes(report: Report) -> Iterator[str]:
    """Fixes of the implementation, then those that helped most tests; each with what was seen."""
    merged = [job for job in report.jobs if job.ledger in ("merged", "duplicate")]
    shared = Counter(sha for job in merged for sha in job.merged)

    def rank(job: JobReport) -> tuple[bool, bool, int]:
        kinds = {change.kind for change in job.changes if change.status == "SUCCEEDED"}
        return (
            "FIX_IMPL" not in kinds,
            job.standing != Standing.FIXED,
            -max((shared[s] for s in job.merged), default=0),
        )

    for job in sorted(merged, key=rank)[:MOST_FIXES]:
        seen = f" ({defused(checked)})" if (checked := verified(job)) else ""
        said = f"{defused(job.summary or job.detail)}{seen} {_commits(job)}".rstrip()
        yield f"1. {_code(job.test)} {job.standing}: {said}"
    yield from _rest(len(merged), MOST_FIXES)


def _commits(job: JobReport) -> str:
    """As `marks` finds them again."""
    named = ", ".join(sha[:12] for sha in job.merged[:MOST_COMMITS])
    return f"{named} and {len(job.merged) - MOST_COMMITS} more" if len(job.merged) > MOST_COMMITS else named


def _others(report: Report) -> Iterator[str]:
    for failure in report.failures[:MOST_OTHERS]:
        yield f"- {failure.count} failed: {defused(failure.cause)}"
    left = [job for job in report.jobs if job.ledger in ("conflict", "rejected", "rescued")]
    for job in left[:MOST_OTHERS]:
        yield f"- {_code(job.test)} {job.ledger}: {defused(job.ledger_detail)}"
    yield from _rest(len(left), MOST_OTHERS)


def _cost(report: Report) -> str:
    tokens = report.tokens
    each = f"; {number(tokens.per_success)} for each test fixed or improved" if tokens.per_success else ""
    return f"{number(tokens.input)} tokens in, {number(tokens.output)} out, {number(tokens.cached)} cached{each}."


def _code(text: str) -> str:
    """In a code span nothing is obeyed, but it must not end early."""
    told = "".join(char if char.isprintable() and char != "`" else "?" for char in text)[:MOST_WORDS]
    return f"`{unlinked(told)}`"


def _rest(count: int, most: int) -> Iterator[str]:
    if count > most:
        yield f"- … and {count - most} more"


def _within(text: str) -> str:
    """Cut between lines, so that no escape is cut in two."""
    if len(text) <= MOST_BODY:
        return text
    kept = text[: MOST_BODY - 80].rpartition("\n")[0]
    return f"{kept}\n\n… and more: see the report."
