"""One attempt under way: what each event adds to its steps, and its spans when it is over."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.outcome import Outcome
from supervisor.model.usage import NOTHING, Usage
from supervisor.observe.traces import genai
from supervisor.observe.traces.span import Ids, Span, Step, Value, cleaned, ids

#: the prefix of our own attributes
OURS = "agent_supervisor"
LAUNCH, WORK, COLLECT, VERIFY = "launch", "work", "collect", "verify"
_FAILURES = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STALLED, Outcome.LOST)
_REFUTED = ("refused", "unverified", "flaky")


@dataclass(slots=True)
class UnderWay:
    batch: str
    job: int
    attempt: int
    start: float
    #: the kind of its agent
    kind: str = ""
    agent_id: str = ""
    attributes: dict[str, Value] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    usage: Usage = NOTHING
    problem: str = ""
    #: when its job went on
    settled: float | None = None
    #: its agent is put away
    is_left: bool = False

    @classmethod
    def of(cls, event: ev.LaunchStarted, kind: str, profile: str) -> "UnderWay":
        named = {"profile": profile, "agent": event.agent_name, "pool": event.pool, "provider": event.provider}
        named |= {"host": event.host, "account": event.account}
        attributes: dict[str, Value] = {f"{OURS}.{name}": cleaned(said) for name, said in named.items() if said}
        attributes |= {f"{OURS}.batch": event.batch, f"{OURS}.job": f"{event.batch}.{event.job}"}
        attributes[f"{OURS}.attempt"] = event.attempt
        begun = cls(event.batch, event.job, event.attempt, event.at, kind, event.agent_id, attributes)
        begun.begin(LAUNCH, event.at)
        return begun

    @property
    def key(self) -> AttemptKey:
        return AttemptKey(self.batch, self.job, self.attempt)

    @property
    def is_over(self) -> bool:
        """Nothing more will happen to it."""
        return self.settled is not None and self.is_left

    @property
    def is_collected(self) -> bool:
        """Its agent's publication is safe, so only the verdict on its job is missing."""
        return COLLECT in self.steps and f"{OURS}.claim" in self.attributes

    def begin(self, name: str, at: float) -> Step:
        """Begin a step; a repeated step continues the first one."""
        return self.steps.setdefault(name, Step(max(self.start, at)))

    def finish(self, name: str, at: float, problem: str = "") -> None:
        if (step := self.steps.get(name)) is not None:
            step.finish(at, problem)

    def note(self, name: str, event: ev.Event, about: str = "") -> None:
        if (step := self.steps.get(name)) is not None and step.end is None:
            step.note(event.at, event.kind, about)

    def hear(self, event: ev.JobEvent) -> None:
        if (said := _HEARD.get(type(event))) is not None:
            said(self, event)

    # --- when it is over

    def spans(self, installation: str) -> Iterator[Span]:
        root = ids(installation, *self.key)
        if (work := self.steps.get(WORK)) is not None:
            work.attributes |= genai.agent(self.agent_id, self.kind) | genai.spent(self.kind, self.usage)
        settled = self.start if self.settled is None else self.settled
        end = max(self.start, settled, *(step.end or step.start for step in self.steps.values()))
        yield Span("attempt", root, self.start, end, attributes=self.attributes, problem=self.problem)
        for name, step in self.steps.items():
            yield self._child(installation, root, name, step, end)

    def _child(self, installation: str, root: Ids, name: str, step: Step, end: float) -> Span:
        own = {key: self.attributes[key] for key in (f"{OURS}.batch", f"{OURS}.job", f"{OURS}.attempt")}
        return Span(
            name,
            ids(installation, *self.key, step=name),
            step.start,
            end if step.end is None else step.end,
            parent=root.span,
            attributes=own | step.attributes,
            problem=step.problem,
            moments=tuple(step.moments),
        )


# --- what each event says


def _launched(one: UnderWay, event: ev.LaunchSucceeded) -> None:
    one.finish(LAUNCH, event.at)
    one.begin(WORK, event.at)


def _unlaunched(one: UnderWay, event: ev.LaunchFailed) -> None:
    one.finish(LAUNCH, event.at, sentence(event.reason, event.detail))


def _interrupted(one: UnderWay, event: ev.LaunchInterrupted) -> None:
    one.finish(LAUNCH, event.at, sentence("the daemon stopped during the launch", event.detail))


def _worked(why: str = "") -> Callable[[UnderWay, Any], None]:
    def ended(one: UnderWay, event: Any) -> None:
        one.finish(WORK, event.at, sentence(why, getattr(event, "detail", "")) if why else "")

    return ended


def _noted(step: str) -> Callable[[UnderWay, Any], None]:
    """Note the event, with the first text that it has."""

    def noted(one: UnderWay, event: Any) -> None:
        said = (getattr(event, name, "") for name in ("question", "problem", "detail"))
        one.note(step, event, sentence(*filter(None, said)))

    return noted


def _collecting(one: UnderWay, event: ev.CollectStarted) -> None:
    one.finish(WORK, event.at)
    one.begin(COLLECT, event.at)


def _not_taken(one: UnderWay, event: ev.PublicationRefused) -> None:
    one.begin(COLLECT, event.at).problem = cleaned(sentence("refused", event.reason, event.detail))


def _collected(one: UnderWay, event: ev.WorkCollected) -> None:
    one.attributes[f"{OURS}.claim"] = cleaned(event.claim)
    one.attributes[f"{OURS}.commits"] = event.commits
    one.begin(COLLECT, event.at).finish(event.at)


def _rescued(one: UnderWay, event: ev.WorkRescued) -> None:
    one.attributes[f"{OURS}.commits"] = event.commits
    step = one.begin(COLLECT, event.at)
    if event.unsaved:
        step.note(event.at, "unsaved", event.unsaved)
    step.finish(event.at)


def _verifying(one: UnderWay, event: ev.VerifyStarted) -> None:
    step = one.begin(VERIFY, event.at)
    if event.pool:
        step.attributes[f"{OURS}.pool"] = cleaned(event.pool)


def _verified(one: UnderWay, event: ev.WorkVerified) -> None:
    step = one.begin(VERIFY, event.at)
    step.attributes |= {f"{OURS}.runs": event.runs, f"{OURS}.doubts": len(event.doubts)}
    if event.verification:
        step.attributes[f"{OURS}.verdict"] = event.verification
    refuted = event.verification in _REFUTED
    step.finish(event.at, sentence(event.verification, event.reason) if refuted else "")


def _counted(one: UnderWay, event: ev.UsageCounted) -> None:
    one.usage = Usage(event.input, event.output, event.cached, model=event.model, written=event.written)


def _requeued(one: UnderWay, event: ev.JobRequeued) -> None:
    one.settled, one.problem = event.at, cleaned(event.why) or "it is tried again"


def _ended(one: UnderWay, event: ev.JobEnded) -> None:
    one.settled = event.at
    one.attributes[f"{OURS}.outcome"] = cleaned(event.outcome)
    if event.outcome in _FAILURES:
        one.problem = cleaned(event.detail) or cleaned(event.outcome)


def _cancelled(one: UnderWay, event: ev.JobCancelled) -> None:
    """If only the verdict was missing, the job is over at once; else its agent is ended and its work is fetched."""
    one.note(WORK, event)
    one.finish(WORK, event.at)
    one.attributes[f"{OURS}.outcome"] = Outcome.CANCELLED.value
    if one.is_collected:
        one.settled = event.at


def _left(one: UnderWay, event: ev.AgentReleased) -> None:
    one.is_left = True


def sentence(*parts: str) -> str:
    return ": ".join(part for part in parts if part)


_HEARD: Mapping[type[ev.Event], Callable[[UnderWay, Any], None]] = {
    ev.LaunchSucceeded: _launched,
    ev.LaunchFailed: _unlaunched,
    ev.LaunchInterrupted: _interrupted,
    ev.WorkPublished: _worked(),
    ev.AgentVanished: _worked("it ended without publishing"),
    ev.TimeRanOut: _worked("it exceeded the time limit of its job"),
    ev.AgentStalled: _worked("it was nudged and still did nothing"),
    ev.AgentHalted: _worked("a cap was reached"),
    ev.WakingDeclined: _worked("it slept, and its job starts again from what it left"),
    **dict.fromkeys((ev.JobParked, ev.JobUnparked, ev.AgentHindered, ev.AgentNudged), _noted(WORK)),
    **dict.fromkeys((ev.AgentFellQuiet, ev.AgentStirred), _noted(WORK)),
    ev.CollectStarted: _collecting,
    ev.CollectFailed: _noted(COLLECT),
    ev.PublicationRefused: _not_taken,
    ev.WorkCollected: _collected,
    ev.WorkRescued: _rescued,
    ev.VerifyStarted: _verifying,
    ev.WorkPutBack: _noted(VERIFY),
    ev.WorkVerified: _verified,
    ev.UsageCounted: _counted,
    ev.JobRequeued: _requeued,
    ev.JobEnded: _ended,
    ev.JobCancelled: _cancelled,
    ev.AgentReleased: _left,
}
