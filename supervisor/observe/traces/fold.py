"""The fold over the journal: each event yields the spans that it ends."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.ledger import ON_BRANCH
from supervisor.observe.traces.attempts import OURS, UnderWay
from supervisor.observe.traces.span import Span, Step, cleaned, ids

#: the number of links per span that collectors accept by default
MOST_LINKS = 128


@dataclass(slots=True)
class Merging:
    """An integration under way."""

    step: Step
    #: of a partial integration: its jobs, as far as they can be linked, with their attempts
    jobs: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Known:
    """What is remembered of an open batch."""

    #: its agents' kind, and its profile
    kind: str = ""
    profile: str = ""
    #: by job: its attempt that has not gone on
    at_work: dict[int, int] = field(default_factory=dict)
    #: of the first jobs that delivered work: the last attempt that did
    brought: dict[int, int] = field(default_factory=dict)
    merging: dict[int, Merging] = field(default_factory=dict)


@dataclass(slots=True)
class Memory:
    """All that is remembered between events; its size grows with the agents at work, not with the jobs."""

    batches: dict[str, Known] = field(default_factory=dict)
    attempts: dict[str, UnderWay] = field(default_factory=dict)


class Traces:
    """Folds events into spans. What began before the first event that it got is not exported."""

    def __init__(self, installation: str, memory: Memory | None = None) -> None:
        self._installation, self.memory = installation, memory or Memory()

    def hear(self, event: ev.Event) -> Iterator[Span]:
        match event:
            case ev.BatchSubmitted():
                self.memory.batches[event.batch] = Known(cleaned(event.profile.agent), cleaned(event.profile.name))
            case ev.BatchSealed():
                self._forget(event.batch)
            case ev.LaunchStarted():
                self._begun(event)
            case ev.JobEvent():
                yield from self._happened(event)
            case ev.BatchEvent():
                yield from self._merged(event)

    # --- attempts

    def _batch(self, name: str) -> Known:
        """What is known of a batch; if its submission was not seen, from its first launch or integration on."""
        return self.memory.batches.setdefault(name, Known())

    def _begun(self, event: ev.LaunchStarted) -> None:
        known = self._batch(event.batch)
        begun = UnderWay.of(event, known.kind, known.profile)
        self.memory.attempts[str(begun.key)] = begun
        known.at_work[event.job] = event.attempt

    def _happened(self, event: ev.JobEvent) -> Iterator[Span]:
        known = self.memory.batches.get(event.batch, Known())
        number = event.attempt if isinstance(event, ev.AttemptEvent) else known.at_work.get(event.job, 0)
        key = AttemptKey(event.batch, event.job, number)
        if (one := self.memory.attempts.get(str(key))) is None:
            return
        one.hear(event)
        if isinstance(event, ev.WorkCollected) and (event.job in known.brought or len(known.brought) < MOST_LINKS):
            known.brought[event.job] = event.attempt
        if one.settled is not None and known.at_work.get(event.job) == number:
            del known.at_work[event.job]
        if one.is_over:
            del self.memory.attempts[str(key)]
            yield from one.spans(self._installation)

    def _forget(self, batch: str) -> None:
        self.memory.batches.pop(batch, None)
        for key in [key for key, one in self.memory.attempts.items() if one.batch == batch]:
            del self.memory.attempts[key]

    # --- integrations

    def _merged(self, event: ev.BatchEvent) -> Iterator[Span]:
        known = self.memory.batches.get(event.batch, Known())
        match event:
            case ev.IntegrationStarted():
                self._batch(event.batch).merging[event.number] = Merging(Step(event.at))
            case ev.PartialStarted():
                jobs = set(event.jobs)
                of = {job: attempt for job, attempt in known.brought.items() if job in jobs}
                self._batch(event.batch).merging[event.number] = Merging(Step(event.at), of)
            case ev.IntegrationEnded() | ev.PartialEnded():
                yield from self._integrated(known, event)
            case (
                ev.IntegrationResumed()
                | ev.IntegrationFailed()
                | ev.JudgementWanted()
                | ev.PartialResumed()
                | ev.PartialFailed()
            ):
                if (merging := known.merging.get(event.number)) is not None:
                    merging.step.note(event.at, event.kind, getattr(event, "detail", "") or getattr(event, "why", ""))

    def _integrated(self, known: Known, event: ev.IntegrationEnded | ev.PartialEnded) -> Iterator[Span]:
        if (merging := known.merging.pop(event.number, None)) is None:
            return
        if isinstance(event, ev.IntegrationEnded):
            on_branch = {job for job, row in event.ledger.items() if row.fate in ON_BRANCH}
            linked = {job: attempt for job, attempt in known.brought.items() if job in on_branch or job == 0}
            merged = len(on_branch)
        else:
            linked, merged = merging.jobs, event.merged
        step = merging.step
        step.finish(event.at)
        for problem in event.problems:
            step.note(event.at, "problem", problem)
        subject = (event.batch, "integration", event.number)
        yield Span(
            "integrate",
            ids(self._installation, *subject),
            step.start,
            max(step.start, event.at),
            attributes={
                f"{OURS}.batch": event.batch,
                f"{OURS}.integration": event.number,
                f"{OURS}.partial": isinstance(event, ev.PartialEnded),
                f"{OURS}.branch": cleaned(event.branch),
                f"{OURS}.merged": merged,
            },
            moments=tuple(step.moments),
            links=tuple(ids(self._installation, event.batch, job, attempt) for job, attempt in linked.items()),
            unlinked=max(0, merged - len(linked)),
        )
