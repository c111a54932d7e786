"""The words of a pull request: mechanical, from the report; what agents wrote is quoted, short and defused.

GitHub obeys what stands in a body: `@name` calls a person, `fixes #1` closes an issue, a picture is fetched, HTML is
shown. So agents' words are one line of escaped text in which references are broken by an invisible space.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from supervisor.observe.report import Escalated, JobReport, Report, Standing
from supervisor.observe.report_text import number, verified

MOST_BODY = 60_000
MOST_FIXES, MOST_ESCALATIONS, MOST_OTHERS = 100, 40, 40
MOST_WORDS = 300
#: stands in tables in this order
SHOWN = tuple(each for each in Standing if each not in (Standing.WORKING, Standing.WAITING))

_INVISIBLE = "\u200b"
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")
_REFERENCE = re.compile(r"(?<=@)|(?<=#)|(?<=\bgh-)(?=\d)|(?<=:)(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)
_MARKER = re.compile(r"<!-- agent-supervisor profile=(\S+) batch=(\S+) -->")


def is_worth_it(report: Report) -> bool:
    """Something was merged, or somebody has to know of something."""
    return bool(report.ledger.get("merged") or report.escalations)


def title(report: Report) -> str:
    """`agent-supervisor overnight 2026-07-21: 12 fixed, 3 improved, 1 escalated`."""
    told = {each.words: report.counts.get(each, 0) for each in (Standing.FIXED, Standing.IMPROVED)}
    told["escalated"] = len(report.escalations)
    said = ", ".join(f"{count} {word}" for word, count in told.items() if count) or "nothing done"
    return f"agent-supervisor {report.batch.profile} {report.batch.created_at[:10]}: {said}"


def body(report: Report, supersedes: int | None = None) -> str:
    parts = [
        f"<!-- agent-supervisor profile={report.batch.profile} batch={report.batch.id} -->\n{_opening(report)}",
        f"Supersedes #{supersedes}, of the same profile." if supersedes else "",
        _table(("tests", "came out as"), ((str(report.counts[s]), s.words) for s in SHOWN if report.counts.get(s))),
        _section("Escalations, blockers first", _escalations(report.escalations)),
        _section("On this branch, the most useful first", _fixes(report)),
        _section("Not on this branch", _others(report)),
        _section("What it took", iter([_cost(report)])),
    ]
    return _within("\n\n".join(part for part in parts if part))


def marked(text: str) -> tuple[str, str] | None:
    """The profile and the batch of a body that we wrote."""
    found = _MARKER.match(text)
    return (found[1], found[2]) if found else None


def defused(words: str, most: int = MOST_WORDS) -> str:
    """One line that says the same and does nothing."""
    told = " ".join("".join(char if char.isprintable() else " " for char in words).split())
    told = told if len(told) <= most else told[: most - 1] + "…"
    told = _MARKUP.sub(r"\\\1", _REFERENCE.sub(_INVISIBLE, told))
    return told.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# --- parts


def _opening(report: Report) -> str:
    batch = report.batch
    return (
        f"Batch `{batch.id}` put an agent on each of {report.submitted} tests, from `{batch.base[:12]}` on. "
        "Each commit says which job it is from and what the machine saw; a fix of the implementation is a commit of "
        f"its own and can be reverted alone. `supervisorctl report {batch.id}` has the rest."
    )


def _section(heading: str, rows: Iterator[str]) -> str:
    listed = list(rows)
    return "\n".join([f"### {heading}", "", *listed]) if listed else ""


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [_row(head), _row(["---"] * len(head)), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


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
        commits = ", ".join(sha[:12] for sha in job.merged[:3])
        seen = f" ({defused(checked)})" if (checked := verified(job)) else ""
        yield f"1. {_code(job.test)} {job.standing}: {defused(job.summary or job.detail)}{seen} {commits}".rstrip()
    yield from _rest(len(merged), MOST_FIXES)


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
    return f"`{_REFERENCE.sub(_INVISIBLE, told)}`"


def _rest(count: int, most: int) -> Iterator[str]:
    if count > most:
        yield f"- … and {count - most} more"


def _within(text: str) -> str:
    """Cut between lines, so that no escape is cut in two."""
    if len(text) <= MOST_BODY:
        return text
    kept = text[: MOST_BODY - 40].rpartition("\n")[0]
    return f"{kept}\n\n… and more: see the report."
