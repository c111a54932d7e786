"""Views of the state as data for JSON: pure, in a format that other programs depend on."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from supervisor.flow import canary, policy, rates, siblings, slots
from supervisor.model.batch import Batch
from supervisor.model.job import Job, JobState, Saved
from supervisor.model.ledger import Fate
from supervisor.model.outcome import Outcome
from supervisor.model.pool import Pool
from supervisor.model.state import State
from supervisor.model.usage import Usage
from supervisor.observe import survey
from supervisor.observe.claims import verify_slots, verifying
from supervisor.observe.held_back import held_back
from supervisor.observe.patterns import MOST_PATTERNS, patterns
from supervisor.ports import SealedBatch

SCHEMA_VERSION = 1

type View = dict[str, Any]


#: no claim waits or is verified
NONE: Mapping[str, View] = {}


def rfc3339(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def answer(now: float, **content: Any) -> View:
    return {"schema_version": SCHEMA_VERSION, "as_of": rfc3339(now), **content}


def status(batch: Batch, now: float, proofs: Mapping[str, View] = NONE) -> View:
    return answer(now, batch=summary(batch, proofs))


def jobs(batch: Batch, now: float) -> View:
    integrator = row(batch, batch.integrator) if batch.integrator is not None else None
    return answer(now, rows=[row(batch, job) for job in batch.jobs()], integrator=integrator)


def job(batch: Batch, number: int, now: float) -> View:
    """One job with all its details."""
    known = batch.job(number)
    brought, claim = known.brought, known.verdict.outcome or known.brought.claim
    details = {"detail": known.detail, "claim": claim or None, "head": brought.head or None}
    waiting = {"why": known.ending.detail or known.ending.how} if known.ending is not None else {"why": None}
    return answer(now, job=row(batch, known) | details | waiting | {"commits": brought.commits})


def queue(
    state: State, now: float, problems: Mapping[str, str] | None = None, strays: Mapping[str, str] | None = None
) -> View:
    """The open batches and the pools.

    `problems` maps providers that can't be reached to the reason; `strays` maps agents of this installation
    without an attempt to a message about them."""
    batches, awaited = state.in_order(), slots.awaited(state, now)
    attention = [entry for batch in batches for entry in _attention(batch)]
    denied = ((batch, policy.told(state, batch)) for batch in batches)
    attention += [{"kind": "policy", "batch": batch.id, "message": said} for batch, said in denied if said]
    attention += [{"kind": "provider", "provider": name, "message": why} for name, why in (problems or {}).items()]
    proofs = verifying(state)
    attention += [{"kind": "stray", "agent": agent, "message": message} for agent, message in (strays or {}).items()]
    return answer(
        now,
        paused=state.paused,
        pause_reason=state.pause_reason,
        agents=len(state.attempts),
        pools=[_pool(state, state.pools[name], awaited, now) for name in sorted(state.pools)],
        verify=verify_slots(state),
        batches=[summary(batch, proofs) for batch in batches],
        attention=attention,
    )


def seal(batch: Batch) -> SealedBatch:
    """The summary that is kept of a finished batch."""
    ended = batch.finished_at or batch.created_at
    return SealedBatch(
        id=batch.id,
        created_at=batch.created_at,
        finished_at=ended,
        status=json.dumps(status(batch, ended)),
        jobs=json.dumps(jobs(batch, ended)),
    )


# --- parts


def summary(batch: Batch, proofs: Mapping[str, View] = NONE) -> View:
    return {
        "id": batch.id,
        "state": batch.state,
        "repo": batch.repo,
        "base": batch.base,
        "branch": batch.result.branch or None,
        "unlanded": _unlanded(batch),
        "so_far": _so_far(batch),
        "retry_of": batch.origin.retry_of or None,
        "problems": list(batch.result.problems),
        "notes": list(batch.result.notes),
        "submitted_from": batch.origin.branch or None,
        "profile": batch.profile.name,
        "author": batch.origin.author,
        "priority": batch.priority,
        "paused": batch.paused,
        "cancelled_by": batch.cancelled_by or None,
        "stopped": batch.stop.reason or None,
        "window_open": batch.window_open,
        "waits_for": canary.told(batch) or None,
        "patterns": patterns(batch),
        "siblings": _siblings(batch),
        "created_at": rfc3339(batch.created_at),
        "finished_at": rfc3339(batch.finished_at),
        "jobs": {"total": len(batch.tests)} | {state.value: batch.count(state) for state in JobState},
        "at_work": batch.at_work,
        "verify": proofs.get(batch.id, {"waiting": 0, "running": 0, "slots": 0}),
        "survey": survey.view(batch.survey),
        "held_up": {reason: round(seconds, 1) for reason, seconds in sorted(batch.held_up.items())},
        "outcomes": _outcomes(batch),
        "ledger": _ledger(batch),
        "tokens": _tokens(batch.usage),
        "attention": list(_attention(batch)),
    }


def row(batch: Batch, job: Job) -> View:
    fate = batch.ledger.get(job.number)
    return {
        "id": batch.job_id(job.number),
        "test": job.test,
        "cases": batch.cases_of(job.number),
        "audited": job.number in batch.origin.audited,
        "failed_before": job.verdict.failed_before,
        "state": job.state,
        "outcome": _outcome(job),
        "sibling": _sibling(batch, job),
        "ledger": fate.fate if fate else None,
        "ledger_why": (fate.detail or None) if fate else None,
        "work": [work_entry(batch, job, each) for each in job.kept],
        "doubts": [*job.verdict.doubts, *(fate.doubts if fate else ())],
        "evidence": None if job.verdict.evidence is None else asdict(job.verdict.evidence),
        "attempts": job.attempts,
        "tokens": _tokens(job.usage),
        "tool_calls": job.usage.tool_calls,
        "errors": job.usage.errors,
        "model": job.usage.model or None,
        "agent": job.agent or None,
        "pool": job.pool or None,
        "queued_at": rfc3339(batch.created_at),
        "launched_at": rfc3339(job.times.launched),
        "published_at": rfc3339(job.times.published),
        "collected_at": rfc3339(job.times.collected),
        "ended_at": rfc3339(job.times.ended),
    }


def work_entry(batch: Batch, job: Job, each: Saved) -> View:
    """The work of one attempt, and where it is."""
    agent = {"name": each.agent, "clone": each.clone or None, "reach": each.reach, "has": each.unsaved}
    return {
        "attempt": each.attempt,
        "ref": each.ref(batch.id, job.number) or None,
        "head": each.head or None,
        "commits": each.commits,
        "rescued": each.rescued,
        "agent": agent if each.agent else None,
    }


def _siblings(batch: Batch) -> list[View]:
    """The families with jobs that are held: where they fail, how many wait, and for whom."""
    return [
        {"place": family.place, "held": held, "first": batch.job_id(siblings.first_of(batch, family.jobs[0]))}
        for family, held in islice(siblings.held_for(batch), MOST_PATTERNS)
    ]


def _sibling(batch: Batch, job: Job) -> str | None:
    """The sibling that the job waits for, or whose work is or was tried on its test."""
    if job.state is JobState.HELD:
        return batch.job_id(siblings.first_of(batch, job.number))
    return batch.job_id(job.borrowed.job) if job.borrowed is not None else None


def _outcome(job: Job) -> Outcome | None:
    # An untouched job is cancelled with its batch and has no outcome of its own.
    return Outcome.CANCELLED if job.state is JobState.CANCELLED else job.outcome


def _outcomes(batch: Batch) -> dict[str, int]:
    found = Counter(_outcome(job) for job in batch.touched.values())
    found[Outcome.CANCELLED] = batch.count(JobState.CANCELLED)  # includes untouched jobs
    return {outcome.value: found[outcome] for outcome in Outcome}


def _ledger(batch: Batch) -> dict[str, int]:
    found = Counter(row.fate for row in batch.ledger.values())
    return {fate.value: found[fate] for fate in Fate}


def _tokens(usage: Usage) -> dict[str, int]:
    return {"input": usage.input, "output": usage.output, "cached": usage.cached}


def _attention(batch: Batch) -> Iterator[View]:
    """What needs a person, or waits for the provider of a model."""
    for job in batch.begun():
        if job.state is JobState.PARKED:
            yield _entry("parked", batch, job, job.detail or "waits for a person")
        elif job.setbacks.hindrance not in ("", batch.stop.reason) and not job.state.is_over:
            yield _entry(job.setbacks.hindrance, batch, job, job.detail or "its model's provider refuses to serve it")
    if batch.stop.reason:
        yield {"kind": "stopped", "batch": batch.id, "message": _stopped(batch)}
    for problem in _untold(batch):
        yield {"kind": "integration", "batch": batch.id, "message": problem}


def _stopped(batch: Batch) -> str:
    if batch.is_spent or batch.finished_at is not None:
        return batch.stop.detail
    return f"{batch.stop.detail}: solve that, then run `supervisorctl resume {batch.id}`"


def _so_far(batch: Batch) -> View | None:
    """The result of the last partial integration; `jobs` is the number of jobs that were over at its start."""
    if (result := batch.integrations.so_far) is None:
        return None
    offered = {"branch": result.branch or None, "pull_request": result.pull_request or None}
    return {**offered, "jobs": result.jobs, "merged": result.merged}


def _unlanded(batch: Batch) -> View | None:
    """The ref, in the daemon's repository, of a branch that could not be created in the person's repository."""
    if not batch.result.head or batch.result.branch:
        return None
    commits = sum(len(row.commits) for row in batch.ledger.values() if row.fate is Fate.MERGED)
    ref = f"refs/supervisor/{batch.id}/integrated/{batch.integrations.count}"
    return {"ref": ref, "head": batch.result.head, "commits": commits}


def _untold(batch: Batch) -> Iterator[str]:
    """The problems of a partial integration; those of the final one are in the batch's `problems`."""
    if batch.integrations.partial is not None and batch.integrations.partial.trouble:
        yield f"the partial integration failed and will be retried: {batch.integrations.partial.trouble}"
    if batch.integrations.so_far is not None and batch.finished_at is None:
        yield from batch.integrations.so_far.problems


def _entry(kind: str, batch: Batch, job: Job, message: str) -> View:
    return {"kind": kind, "job": batch.job_id(job.number), "message": message}


def _pool(state: State, pool: Pool, awaited: Set[str], now: float) -> View:
    rate = rates.of(state, pool)
    return {
        "name": pool.name,
        "provider": pool.provider,
        "slots": pool.slots,
        "busy": pool.busy,
        # all pools of this machine share its verify slots
        "verify_slots": state.verifying.slots if pool.provider == "local" else pool.verifies_at_once,
        "verify": None if pool.provider == "local" else verify_slots(state, pool.name),
        "lingering": pool.lingering,
        "resting": pool.resting,
        "hosts": sorted(pool.members),
        "launch_rate": rate.per_second or None,
        "held_back": held_back(state, pool, now) if pool.name in awaited else None,
    }
