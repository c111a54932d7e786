"""Replay a past batch with other slots or another budget, on a clock that steps from one event to the next.

The core decides as it does in the daemon, by the same `plan` and `apply`. The devices are played from a recording:
each answer takes as long as it took. A group of claims that was verified takes as long as it took then; another
one as long as groups of its size took. An attempt that was never made takes what another job of the batch took.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from heapq import heappop, heappush
from typing import Any

from supervisor.errors import ImpossibleTransition
from supervisor.flow import batches
from supervisor.flow.history import apply
from supervisor.flow.plan import next_at, plan
from supervisor.foresight.recording import Agent, Answer, Key, Recording
from supervisor.foresight.sizes import fitted
from supervisor.model import effect as eff
from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.model.profile import Profile
from supervisor.model.state import State

#: events this close together are one turn
TICK_SECONDS = 1e-4
#: a batch that is not over after so many turns never ends
MOST_TURNS = 1_000_000
#: fields that are times, and move with their event
_TIMES = ("retry_at", "since")


@dataclass(frozen=True, slots=True)
class Other:
    """The settings to change; None: as it was."""

    slots: Mapping[str, int] = field(default_factory=dict)
    verify_slots: int | None = None
    budget: int | None = None
    window: str | None = None


@dataclass(frozen=True, slots=True)
class Launched:
    at: float
    job: int
    attempt: int
    pool: str


@dataclass(frozen=True, slots=True)
class Replayed:
    began: float
    #: None: it would never have ended
    ended: float | None
    launches: tuple[Launched, ...]
    #: at its end
    batch: Batch
    #: the most agents at a time
    most_agents: int
    #: the number of attempts that were never made, and took what another one took
    guessed: int
    #: what would have been journalled
    events: tuple[ev.Event, ...]


def replay(
    recording: Recording, pools: ev.PoolsConfigured, other: Other, accounts: Sequence[ev.Event] = ()
) -> Replayed:
    """`pools` and `accounts` are as configured when the batch was submitted; `accounts` includes their levels."""
    stage = _Stage(recording, _configured(pools, other))
    submitted = recording.submitted
    for event in accounts:
        stage.hear(event)
    stage.hear(replace(submitted, profile=_profile(submitted.profile, other, pools)))
    for event in accounts:  # again, for an account that is known only from the batch
        stage.hear(event)
    for asked in recording.asked:
        stage.later(submitted.at + asked.seconds, asked, asked.event)
    while not stage.is_over and stage.turns < MOST_TURNS and stage.turn():
        pass
    return stage.told()


def _configured(pools: ev.PoolsConfigured, other: Other) -> ev.PoolsConfigured:
    specs = tuple(replace(spec, slots=other.slots.get(spec.name, spec.slots)) for spec in pools.pools)
    verify_slots = pools.verify_slots if other.verify_slots is None else other.verify_slots
    return replace(pools, pools=specs, verify_slots=verify_slots)


def _profile(profile: Profile, other: Other, pools: ev.PoolsConfigured) -> Profile:
    """The batch's profile with the changes. Its own limit of slots does not limit the slots that were asked for."""
    changes: dict[str, Any] = {}
    if other.slots and profile.slots:
        slots = {spec.name: spec.slots for spec in pools.pools} | dict(other.slots)
        changes["slots"] = max(profile.slots, sum(slots.get(name, 0) for name in profile.pools))
    if other.budget is not None:
        changes["budget_tokens"] = other.budget
    if other.window is not None:
        changes["window"] = other.window
    return replace(profile, **changes)


class _Stage:
    """The core and the recorded devices."""

    def __init__(self, recording: Recording, pools: ev.PoolsConfigured) -> None:
        self.recording, self.batch = recording, recording.submitted.batch
        self.now = recording.submitted.at
        self.state = apply(State("replay"), replace(pools, at=self.now))
        self.turns = 0
        self.events: list[ev.Event] = []
        self.launches: list[Launched] = []
        self.most_agents = 0
        #: the batch once it is finished: it leaves the state then
        self.over: Batch | None = None
        self._waiting: list[tuple[float, int, int, ev.Event]] = []
        self._order = 0
        #: the answers that were given to each kind of effect of each attempt
        self._given: dict[tuple[type[ev.Event], Key], int] = {}
        self._integrated = self._partials = 0
        self._known = {group.keys: group for group in reversed(recording.groups)}
        self._line = fitted([(len(group.keys), group.seconds) for group in recording.groups])
        self._stand_ins = [agent for agent in recording.agents.values() if agent.is_whole]
        self._guessed: dict[Key, Agent] = {}

    @property
    def is_over(self) -> bool:
        return self.over is not None

    def told(self) -> Replayed:
        launches, events, guessed = tuple(self.launches), tuple(self.events), len(self._guessed)
        began = self.recording.submitted.at
        batch = self.over or self.state.batches[self.batch]
        return Replayed(began, batch.finished_at, launches, batch, self.most_agents, guessed, events)

    # --- turns

    def turn(self) -> bool:
        """Step to the next time at which something happens. False: nothing happens any more."""
        answered_at = self._waiting[0][0] if self._waiting else None
        due = [at for at in (next_at(self.state, self.now), answered_at) if at is not None]
        if self.turns and not due:
            return False
        self.turns += 1
        self.now = max([self.now, *([min(due)] if self.turns > 1 else [])])
        while self._waiting and self._waiting[0][0] <= self.now + TICK_SECONDS:
            self.hear(heappop(self._waiting)[3])
        while effects := plan(self.state, self.now):
            for effect in effects:
                self.hear(effect.began)
                self._perform(effect)
        return True

    def hear(self, event: ev.Event) -> None:
        """Apply an event, unless this state does not allow it: then it did not happen."""
        event = _moved(event, self.now)
        try:
            self.state = apply(self.state, event)
        except ImpossibleTransition:
            return
        self.events.append(event)
        if isinstance(event, ev.LaunchStarted):
            self.launches.append(Launched(event.at, event.job, event.attempt, event.pool))
            self.most_agents = max(self.most_agents, sum(pool.busy for pool in self.state.pools.values()))
        elif isinstance(event, ev.BatchFinished) and event.batch == self.batch:
            self.over = self.state.batches[self.batch]

    def later(self, at: float, answer: Answer, event: ev.Event) -> None:
        self._order += 1
        heappush(self._waiting, (at, answer.place, self._order, event))

    # --- devices

    def _perform(self, effect: eff.Effect) -> None:
        match effect:
            case eff.Verify():
                self._verify(effect)
            case eff.RunAtBase():
                self._survey(effect)
            case eff.Integrate():
                self._integrate()
            case eff.IntegrateSoFar():
                self._integrate_so_far(effect)
            case eff.Launch() | eff.Collect() | eff.Release() | eff.Nudge():
                self._answer(effect)

    def _answer(self, effect: eff.Launch | eff.Collect | eff.Release | eff.Nudge) -> None:
        began, key = effect.began, (effect.attempt.key.job, effect.attempt.key.attempt)
        kind, agent = type(began), self._agent(key)
        answers = agent.answers.get(kind) or _usual(self._stand_ins, kind)
        number = self._given.get((kind, key), 0)
        self._given[kind, key] = number + 1
        if not answers:
            return
        answer = answers[min(number, len(answers) - 1)]
        at = self.now + answer.seconds
        self.later(at, answer, _of(answer.event, key))
        if isinstance(answer.event, ev.LaunchSucceeded):
            for heard in agent.heard:
                self.later(at + heard.seconds, heard, _of(heard.event, key))

    def _agent(self, key: Key) -> Agent:
        if (known := self.recording.agents.get(key)) is not None and known.answers.get(ev.LaunchStarted):
            return known
        if key not in self._guessed:
            others = self._stand_ins or list(self.recording.agents.values()) or [Agent()]
            drawn = int.from_bytes(sha256(repr(key).encode()).digest()[:4])
            self._guessed[key] = others[drawn % len(others)]
        return self._guessed[key]

    def _verify(self, effect: eff.Verify) -> None:
        keys = frozenset((key.job, key.attempt) for key in effect.keys)
        if (known := self._known.get(keys)) is not None:
            for key in sorted(keys):
                answer = known.results[key]
                self.later(self.now + answer.seconds, answer, answer.event)
            return
        seconds = self._line.at(len(keys))
        for key in sorted(keys):
            verdict = self._verdict(key)
            self.later(self.now + seconds, Answer(seconds, verdict), verdict)

    def _verdict(self, key: Key) -> ev.Event:
        """The final verdict that the claim had; otherwise one that agrees with the claim."""
        for group in reversed(self.recording.groups):
            if (found := group.results.get(key)) is not None and isinstance(found.event, ev.WorkVerified):
                return found.event
        claim = self.state.batches[self.batch].job(key[0]).brought.claim
        return ev.WorkVerified(self.now, self.batch, *key, outcome=claim)

    def _survey(self, effect: eff.RunAtBase) -> None:
        """Other files than then take as long as so many files took, and give no reason to stop."""
        if (known := self.recording.surveyed.get(effect.files)) is not None:
            answer = Answer(known.seconds, replace(known.ended, number=effect.number), known.place)
        else:
            sizes = [(len(files), each.seconds) for files, each in self.recording.surveyed.items()]
            ended = ev.SurveyEnded(self.now, self.batch, effect.number)
            answer = Answer(fitted(sizes).at(len(effect.files)), ended)
        self.later(self.now + answer.seconds, answer, answer.event)

    def _integrate(self) -> None:
        found = self.recording.integrations
        answer = found[min(self._integrated, len(found) - 1)] if found else self._empty_integration()
        self._integrated += 1
        self.later(self.now + answer.seconds, answer, self._numbered(answer.event))

    def _integrate_so_far(self, effect: eff.IntegrateSoFar) -> None:
        found = self.recording.partials
        ended = ev.PartialEnded(self.now, self.batch, effect.number)
        answer = found[min(self._partials, len(found) - 1)] if found else Answer(0.0, ended)
        self._partials += 1
        self.later(self.now + answer.seconds, answer, replace(answer.event, number=effect.number))  # type: ignore[call-arg]

    def _empty_integration(self) -> Answer:
        """For a batch that was never integrated."""
        ledger = batches.unmerged(self.state.batches[self.batch])
        return Answer(0.0, ev.IntegrationEnded(self.now, self.batch, 1, ledger=ledger))

    def _numbered(self, event: ev.Event) -> ev.Event:
        return replace(event, number=self.state.batches[self.batch].integrations)  # type: ignore[call-arg]


def _usual(agents: Iterable[Agent], kind: type[ev.Event]) -> Sequence[Answer]:
    return next((answers for agent in agents if (answers := agent.answers.get(kind))), ())


def _of(event: ev.Event, key: Key) -> ev.Event:
    """The same event for another attempt."""
    if isinstance(event, ev.AttemptEvent) and (event.job, event.attempt) != key:
        return replace(event, job=key[0], attempt=key[1])
    return event


def _moved(event: ev.Event, at: float) -> ev.Event:
    """The same event at another time."""
    named = {each.name for each in fields(event)} & set(_TIMES)
    times = {name: value + at - event.at for name in named if (value := getattr(event, name))}
    return replace(event, at=at, **times)
