"""What the devices answered in a batch, and after how long: its journal without the decisions of the core.

An event is recorded with the time of the turn that applied it. That is the time of the first decision after it, if
one follows at once: the device reads its clock a little earlier.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from supervisor.model import event as ev

type Key = tuple[int, int]

#: a decision that follows so soon belongs to the same turn
SAME_TURN_SECONDS = 0.25

#: the event that begins an effect, and the events that answer it
ANSWERS: Mapping[type[ev.Event], tuple[type[ev.Event], ...]] = {
    ev.LaunchStarted: (ev.LaunchSucceeded, ev.LaunchFailed, ev.LaunchInterrupted),
    ev.CollectStarted: (ev.WorkCollected, ev.WorkRescued, ev.PublicationRefused, ev.CollectFailed),
    ev.ReleaseStarted: (ev.AgentReleased, ev.ReleaseFailed),
    ev.NudgeStarted: (ev.AgentNudged,),
    ev.VerifyStarted: (ev.WorkVerified, ev.WorkPutBack),
    ev.IntegrationStarted: (ev.IntegrationEnded, ev.IntegrationFailed, ev.JudgementWanted),
    ev.IntegrationResumed: (ev.IntegrationEnded, ev.IntegrationFailed, ev.JudgementWanted),
    ev.PartialStarted: (ev.PartialEnded, ev.PartialFailed),
    ev.PartialResumed: (ev.PartialEnded, ev.PartialFailed),
    ev.SurveyStarted: (ev.SurveyEnded,),
}
#: what is seen of an agent
HEARD = (
    ev.WorkPublished,
    ev.AgentVanished,
    ev.AgentFellQuiet,
    ev.AgentStirred,
    ev.JobParked,
    ev.JobUnparked,
    ev.AgentHindered,
    ev.UsageCounted,
    ev.AgentMoved,
)
#: what people did
ASKED = (
    ev.BatchPaused,
    ev.BatchResumed,
    ev.BatchCancelled,
    ev.JobRetried,
    ev.QueuePaused,
    ev.QueueResumed,
    ev.SlotsChanged,
)


@dataclass(frozen=True, slots=True)
class Answer:
    #: after the effect began
    seconds: float
    event: ev.Event
    #: its place in the journal: of two at the same time, the earlier one comes first
    place: int = 0


@dataclass(slots=True)
class Agent:
    """One attempt: the answers to each kind of effect, in order, and what was seen of it since its launch."""

    answers: defaultdict[type[ev.Event], list[Answer]] = field(default_factory=lambda: defaultdict(list))
    heard: list[Answer] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """It was launched, and published."""
        return any(isinstance(each.event, ev.WorkPublished) for each in self.heard)


@dataclass(frozen=True, slots=True)
class Group:
    """Claims that were verified in one slot."""

    #: each is told as soon as it is settled
    results: Mapping[Key, Answer]

    @property
    def keys(self) -> frozenset[Key]:
        return frozenset(self.results)

    @property
    def seconds(self) -> float:
        return max(answer.seconds for answer in self.results.values())


@dataclass(frozen=True, slots=True)
class FilesRun:
    """A group of files that were run at the base."""

    seconds: float
    ended: ev.SurveyEnded
    place: int = 0


@dataclass(slots=True)
class Recording:
    submitted: ev.BatchSubmitted
    agents: dict[Key, Agent] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    surveyed: dict[tuple[str, ...], FilesRun] = field(default_factory=dict)
    #: the answers of integrations, in order
    integrations: list[Answer] = field(default_factory=list)
    partials: list[Answer] = field(default_factory=list)
    #: what people asked since it was submitted
    asked: list[Answer] = field(default_factory=list)
    launches: list[ev.LaunchStarted] = field(default_factory=list)
    finished_at: float | None = None


def record(events: Sequence[ev.Event]) -> Recording | None:
    """Record a batch from its events in order, and those of the daemon meanwhile. None: it was never submitted."""
    submitted = next((event for event in events if isinstance(event, ev.BatchSubmitted)), None)
    if submitted is None:
        return None
    found, reader = Recording(submitted), _Reader(submitted.at)
    for place, (at, event) in enumerate(_timed(events)):
        reader.take(found, place, at, event)
    return found


def _timed(events: Sequence[ev.Event]) -> Iterator[tuple[float, ev.Event]]:
    """Each with the time of its turn; time never goes back."""
    times: list[float] = []
    decided = float("inf")
    for event in reversed(events):
        if not isinstance(event, _TOLD):
            decided = event.at
        times.append(decided if 0 <= decided - event.at <= SAME_TURN_SECONDS else event.at)
    latest = 0.0
    for event, at in zip(events, reversed(times), strict=True):
        latest = max(latest, at)
        yield latest, event


_TOLD = (*HEARD, *ASKED, *{each for answers in ANSWERS.values() for each in answers})


@dataclass(slots=True)
class _Reader:
    submitted_at: float
    #: when each effect began
    begun: dict[tuple[type[ev.Event], Key], float] = field(default_factory=dict)
    launched: dict[Key, float] = field(default_factory=dict)
    integrating: float = 0.0
    partial: float = 0.0
    #: by the first claim of each group: when it began, its claims, and their results
    verifying: dict[Key, tuple[float, set[Key], dict[Key, Answer]]] = field(default_factory=dict)
    group_of: dict[Key, Key] = field(default_factory=dict)
    #: by the number of each group of files: when it began, and its files
    surveying: dict[int, tuple[float, tuple[str, ...]]] = field(default_factory=dict)

    def take(self, found: Recording, place: int, at: float, event: ev.Event) -> None:
        match event:
            case ev.IntegrationStarted() | ev.IntegrationResumed():
                self.integrating = at
            case ev.PartialStarted() | ev.PartialResumed():
                self.partial = at
            case ev.IntegrationEnded() | ev.IntegrationFailed() | ev.JudgementWanted():
                found.integrations.append(Answer(at - self.integrating, event, place))
            case ev.PartialEnded() | ev.PartialFailed():
                found.partials.append(Answer(at - self.partial, event, place))
            case ev.VerifyStarted():
                self._verify(event, at)
            case ev.SurveyStarted():
                self.surveying[event.number] = at, event.files
            case ev.SurveyEnded() if event.number in self.surveying:
                began, files = self.surveying.pop(event.number)
                found.surveyed[files] = FilesRun(at - began, event, place)
            case ev.WorkVerified() | ev.WorkPutBack():
                self._verified(found, event, at, place)
            case ev.AttemptEvent():
                self._of_agent(found, event, at, place)
            case ev.BatchFinished():
                found.finished_at = at
            case ev.JobCancelled() | ev.PartialWanted() | ev.AccountOpened() if event.author:
                found.asked.append(Answer(at - self.submitted_at, event, place))
            case _ if isinstance(event, ASKED):
                found.asked.append(Answer(at - self.submitted_at, event, place))

    def _of_agent(self, found: Recording, event: ev.AttemptEvent, at: float, place: int) -> None:
        key = event.job, event.attempt
        if isinstance(event, ev.LaunchStarted):
            found.launches.append(event)
        if type(event) in ANSWERS:
            self.begun[type(event), key] = at
            return
        agent = found.agents.setdefault(key, Agent())
        if isinstance(event, HEARD):
            agent.heard.append(Answer(at - self.launched.get(key, at), event, place))
            return
        for kind, answers in ANSWERS.items():
            if isinstance(event, answers) and (begun := self.begun.get((kind, key))) is not None:
                agent.answers[kind].append(Answer(at - begun, event, place))
                if kind is ev.LaunchStarted:
                    self.launched[key] = at

    def _verify(self, event: ev.VerifyStarted, at: float) -> None:
        key = event.job, event.attempt
        first = next((one for one in self.verifying if one[0] == event.beside), key) if event.beside else key
        self.verifying.setdefault(first, (at, set(), {}))[1].add(key)
        self.group_of[key] = first

    def _verified(self, found: Recording, event: ev.WorkVerified | ev.WorkPutBack, at: float, place: int) -> None:
        key = event.job, event.attempt
        if (first := self.group_of.pop(key, None)) is None:
            return
        begun, keys, results = self.verifying[first]
        results[key] = Answer(at - begun, event, place)
        if results.keys() == keys:
            del self.verifying[first]
            found.groups.append(Group(results))


def verify_seconds(groups: Iterable[Group]) -> tuple[float, ...]:
    """For each claim, its share of what its group took."""
    return tuple(group.seconds / len(group.keys) for group in groups for _ in group.keys)
