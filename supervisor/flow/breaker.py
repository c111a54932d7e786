"""The breaker: the same failure in several jobs pauses their batch, before it takes the other jobs too.

Theory of operation. Each attempt that ends badly has a fingerprint (`fingerprints`). The breaker trips when so many
jobs of a batch have the same one (`breaker_jobs`, or the share `breaker_share` of all its jobs, whichever is less),
unless they are few among the jobs that ended in the meantime. It also trips when twice as many jobs fail in different
ways, and hardly any other job succeeds. If nearly all jobs fail, the infrastructure is blamed.

A tripped batch launches nothing until a person resumes it; agents at work go on. Failures that a person has seen no
longer count: the breaker trips again when as many further jobs fail. It decides in the turn in which an attempt is
settled, before its slot is given to the next job. A refusal by a model's provider, a failing provider of hosts and a
restart do not count as failures. A batch without jobs to launch ends by itself.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import ceil

from supervisor.errors import ImpossibleTransition
from supervisor.flow import fingerprints
from supervisor.model import event as ev
from supervisor.model.batch import Batch, BatchState, Stop
from supervisor.model.job import INTEGRATOR, Job
from supervisor.model.outcome import SUCCESSES, Outcome
from supervisor.model.pattern import Pattern
from supervisor.model.state import State

TRIPPED = "breaker"
#: a pattern with a smaller share of what ended since it was first seen does not trip the breaker
FLOOR_SHARE = 0.1
#: if a larger share of the jobs that were tried fails, the tests are not the cause
INFRASTRUCTURE_SHARE = 0.8
#: Agents that die within so short a time have one cause, such as the end of their tmux server. They are requeued, and
#: count as one.
TOGETHER_SECONDS = 10.0
#: the most jobs that the event names
MOST_NAMED = 20


def settled(state: State, event: ev.JobRequeued | ev.JobEnded, job: Job) -> State:
    """Count an attempt whose job was settled, and make the pause due if it is one failure too many."""
    if job.number == INTEGRATOR:
        return state
    batch, failure = state.batches[event.batch], fingerprints.of(job, event)
    if failure is not None and _died_together(batch, failure, event):
        return state
    if failure is not None:
        batch = replace(batch, failures=batch.failures.with_failure(failure, job.number, event.at))
    elif isinstance(event, ev.JobEnded) and event.outcome in SUCCESSES:
        return state.with_batch(replace(batch, failures=batch.failures.with_success(job.number)))
    else:
        return state
    state = state.with_batch(batch)
    return state.put((TRIPPED, batch.id), event.at) if _is_too_much(batch) else state


def _died_together(batch: Batch, failure: Pattern, event: ev.JobRequeued | ev.JobEnded) -> bool:
    """Whether its agent died together with one that was counted."""
    known = batch.failures.patterns.get(failure.fingerprint)
    if known is None or failure.fingerprint.outcome != Outcome.LOST or not isinstance(event, ev.JobRequeued):
        return False
    return any(abs(event.at - at) < TOGETHER_SECONDS for at in known.jobs.values())


def limit(batch: Batch) -> int:
    """How many jobs may fail in the same way; 0: any number."""
    share = ceil(batch.profile.breaker_share * len(batch.tests))
    return min((each for each in (batch.profile.breaker_jobs, share) if each > 0), default=0)


def _is_too_much(batch: Batch) -> bool:
    if batch.stop.reason or batch.state is not BatchState.RUNNING or batch.is_drained:
        return False
    return _grown(batch) is not None or _nearly_all_fail(batch)


def _grown(batch: Batch) -> Pattern | None:
    return next(grown_by(batch, limit(batch)), None)


def grown_by(batch: Batch, most: int) -> Iterator[Pattern]:
    """The patterns with `most` or more jobs that no person has accepted, and those that have tripped the breaker."""
    failures = batch.failures
    for pattern in failures.largest_first if most else ():
        is_new = pattern.counts and pattern.count - pattern.accepted >= most
        if pattern.tripped or (is_new and pattern.count >= FLOOR_SHARE * (failures.ended - pattern.since)):
            yield pattern


def _nearly_all_fail(batch: Batch) -> bool:
    most, failures = limit(batch), batch.failures
    return 0 < 2 * most <= len(failures.failing) - failures.accepted and failures.share > INFRASTRUCTURE_SHARE


def due(batch: Batch, now: float) -> ev.BreakerTripped:
    pattern, failures = _grown(batch), batch.failures
    numbers = pattern.numbers if pattern is not None else tuple(sorted(failures.failing))
    shown = pattern or failures.largest_first[0]
    is_infrastructure = failures.share > INFRASTRUCTURE_SHARE
    stage, outcome, exception, message = shown.fingerprint
    if pattern is not None:
        detail = f"{pattern.count} jobs failed in the same way ({outcome} while {stage}: {shown.sample})"
    else:
        detail = f"{len(numbers)} jobs failed, most often so: {outcome} while {stage}: {shown.sample}"
    if is_infrastructure:
        tried = len(failures.failing) + len(failures.well)
        detail += f"; {len(failures.failing)} of {tried} jobs fail, so look at the infrastructure before the tests"
    return ev.BreakerTripped(
        now,
        batch.id,
        detail=detail,
        stage=stage,
        outcome=outcome,
        exception=exception,
        message=message,
        is_mixed=pattern is None,
        count=len(numbers),
        failed_jobs=numbers[:MOST_NAMED],
        sample=shown.sample,
        is_infrastructure=is_infrastructure,
    )


def on_tripped(state: State, event: ev.BreakerTripped) -> State:
    batch = state.batches.get(event.batch)
    if batch is None or batch.state is not BatchState.RUNNING:
        raise ImpossibleTransition(f"{event.kind} of {event.batch}, which does not run")
    failures = batch.failures.with_trip(None if event.is_mixed else event.fingerprint)
    batch = replace(batch, failures=failures)
    if not batch.stop.reason:
        batch = replace(batch, stop=Stop(TRIPPED, event.detail))
    return state.with_batch(batch).drop((TRIPPED, batch.id))


def resumed(batch: Batch) -> Batch:
    return replace(batch, failures=batch.failures.accepting())


def over(batch: Batch) -> Batch:
    """Nothing is left to launch: a pause would only delay the finished work. The report gives its reason."""
    return replace(batch, stop=Stop()) if batch.stop.reason == TRIPPED else batch


APPLIED: Mapping[type[ev.Event], Callable[..., State]] = {ev.BreakerTripped: on_tripped}
