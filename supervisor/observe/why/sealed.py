"""Why a batch that has left memory, and its jobs, ended as they did: from the summary that is kept of it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from supervisor.observe.why.answer import Answer, Cause, Reason
from supervisor.observe.why.scene import because, by, count, quoted, sentence

_STOPPED = {"budget": Cause.BUDGET, "breaker": Cause.BREAKER, "survey": Cause.BROKEN_BASE}

type Kept = Mapping[str, Any]


def of_sealed_batch(status: str) -> Answer:
    batch: Kept = json.loads(status)["batch"]
    found = batch["jobs"]
    said = ", ".join(f"{number:,} {outcome}" for outcome, number in batch["outcomes"].items() if number)
    jobs = f"{count(found['total'], 'job')}: {said or 'none with an outcome'}"
    where = f"Batch {batch['id']} is {batch['state']} since {batch['finished_at']}, {jobs}."
    return Answer(batch["id"], "batch", batch["state"], where, tuple(_of_batch(batch)))


def _of_batch(batch: Kept) -> Iterator[Reason]:
    """Fields that older versions did not keep may be missing."""
    report = f"`supervisorctl report {batch['id']}` shows what came of it."
    if batch["state"] == "cancelled":
        yield Reason(
            Cause.CANCELLED, f"It was cancelled{by(batch.get('cancelled_by') or '')}, so nothing was merged.", report
        )
    else:
        yield Reason(Cause.FINISHED, f"{_branch(batch)} Its ledger: {_counts(batch['ledger'])}.", report)
    stopped = [each["message"] for each in batch.get("attention", ()) if each.get("kind") == "stopped"]
    for message in stopped:
        cause = _STOPPED.get(batch.get("stopped") or "", Cause.PROVIDER_REFUSES)
        yield Reason(cause, f"It was stopped{because(message)}")
    for problem in (batch.get("problems") or ())[:3]:
        yield Reason(Cause.PROBLEM, sentence(f"A problem: {quoted(problem)}"))


def _branch(batch: Kept) -> str:
    if batch["branch"]:
        return f"Its branch is {batch['branch']}."
    if unlanded := batch.get("unlanded"):
        return f"Its branch could not be created in the repository; it is kept as {unlanded['ref']}."
    return "Nothing was merged."


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {word}" for word, number in found.items() if number) or "no rows"


def of_sealed_job(row: Kept) -> Answer:
    outcome = row["outcome"] or row["state"]
    where = f"{row['id']} is over: {outcome}. Its batch is finished."
    return Answer(row["id"], "job", row["state"], where, tuple(_of_job(row)))


def _of_job(row: Kept) -> Iterator[Reason]:
    attempts = count(row["attempts"], "attempt") if row["attempts"] else "no attempt"
    yield Reason(Cause.ENDED, f"It ended as {row['outcome'] or row['state']} after {attempts}.")
    if row.get("ledger"):
        yield Reason(Cause.LEDGER, f"The ledger says {row['ledger']}{because(row.get('ledger_why') or '')}")
    for doubt in (row.get("doubts") or ())[:3]:
        yield Reason(Cause.PROBLEM, sentence(f"A doubt: {quoted(doubt)}"))
    retry = f"`supervisorctl retry {row['id']}` tries it again."
    work = [each["ref"] for each in row.get("work") or () if each.get("ref")]
    if work:
        yield Reason(Cause.LEDGER, f"Its work is kept under {', '.join(work)}.", retry)
