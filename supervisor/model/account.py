"""An account: a login or key that limits and budgets belong to, and what is known of it now.

Without a configuration each kind of agent has one account, of the kind's name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from immutables import Map

from supervisor.model.hindrance import FOR_A_PERSON
from supervisor.model.price import PRICES, Price
from supervisor.model.share import WindowShare
from supervisor.model.usage import NOTHING, Usage

#: how many agents an account begins with, before its level is known
FIRST_LEVEL = 8
#: Reasons of a pause besides the hindrances: a cap is reached, people use the account now, it is ahead of its pace.
CAP, NO_USE, PACE = "cap", "no-use", "pace"


@dataclass(frozen=True, slots=True)
class Caps:
    """What may be spent in a day and in a week; 0: no limit. Tokens of subscriptions and dollars are never added."""

    day_tokens: int = 0
    week_tokens: int = 0
    day_dollars: float = 0.0
    week_dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class AccountSpec:
    """An account as configured."""

    name: str
    #: added to the environment of its agents, over that of their profile
    env: Mapping[str, str] = field(default_factory=dict)
    #: its tokens are paid for with money; otherwise by a subscription
    is_paid: bool = False
    #: how many agents it begins with
    first: int = FIRST_LEVEL
    #: the most agents at a time; 0: as many as its level allows
    slots: int = 0
    caps: Caps = Caps()
    #: the share of each cap, and of each window that its provider reports, that is left for people
    leave: float = 0.0
    #: "9:00-18:00": only people use it then; "": no such time
    no_use: str = ""
    #: spread what may be spent, and what may be used of a window, evenly over its time
    pace: bool = False
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Budget:
    """What holds for all accounts together, as configured."""

    #: of all subscriptions (tokens), and of all accounts that are paid (dollars)
    caps: Caps = Caps()
    #: what a job is expected to use until some have ended
    guess_tokens: int = 1_000_000
    #: how long agents have to publish once a cap is reached
    grace_seconds: float = 300.0
    prices: tuple[Price, ...] = PRICES
    timezone: str = "UTC"


UNLIMITED = Budget()


@dataclass(frozen=True, slots=True)
class Pause:
    """Why nothing is launched on an account, or for one of its models."""

    #: a hindrance, "cap", "no-use" or "pace"
    reason: str
    since: float
    #: 0: until a person resumes it
    until: float = 0.0
    #: a part of the names of the models that are paused; "": all
    model: str = ""
    detail: str = ""
    #: how often in a row, for its back-off
    tries: int = 1

    @property
    def needs_a_person(self) -> bool:
        return self.reason in FOR_A_PERSON

    def holds(self, model: str) -> bool:
        """Whether an agent of that model waits for its end; an unknown model may be the paused one."""
        return not self.model or not model or self.model in model.lower()


@dataclass(frozen=True, slots=True)
class Objection:
    """A refusal that is not acted on yet."""

    problem: str
    at: float
    #: when the provider says that it serves again; 0: it did not say
    until: float = 0.0
    model: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """How many agents an account serves at a time, as far as that is known."""

    agents: int = FIRST_LEVEL
    #: how many agents were served, as the last refusal showed; 0: there was no refusal yet
    known: int = 0
    #: when the level came back to that number; 0: it is below
    back_at: float = 0.0
    changed_at: float = 0.0
    lowered_at: float = 0.0
    why: str = "the first level"
    #: the number of changes, and how many agents were served and refused since the last one
    round: int = 0
    served: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used in a period that ends at `until`; 0: in all time."""

    until: float = 0.0
    usage: Usage = NOTHING
    #: micro-dollars
    money: int = 0

    def plus(self, usage: Usage, money: int) -> "Spent":
        return replace(self, usage=self.usage + usage, money=self.money + money)


@dataclass(frozen=True, slots=True)
class Account:
    spec: AccountSpec
    level: Level
    #: the number of its agents that hold a slot
    busy: int = 0
    #: by reason, or by reason and model
    pauses: Map[str, Pause] = field(default_factory=Map)
    #: refusals that are not acted on yet, with the same keys as `pauses`
    objections: Map[str, Objection] = field(default_factory=Map)
    #: how often in a row it was paused for each reason, since it last served
    tries: Map[str, int] = field(default_factory=Map)
    day: Spent = Spent()
    week: Spent = Spent()
    ever: Spent = Spent()
    #: the attempts that ended without a refusal, and what they used
    jobs: int = 0
    job_usage: Usage = NOTHING
    job_money: int = 0
    #: what its provider reported of its windows, by their minutes; one that is over does not count
    windows: Map[int, WindowShare] = field(default_factory=Map)
    #: how long it was paused, by reason
    paused_seconds: Map[str, float] = field(default_factory=Map)

    @classmethod
    def new(cls, spec: AccountSpec) -> "Account":
        return cls(spec, Level(spec.first))

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def most(self) -> int:
        return min(self.level.agents, self.spec.slots) if self.spec.slots else self.level.agents

    def pause_for(self, model: str) -> Pause | None:
        """The pause that ends last, of those that hold an agent of this model."""
        held = [pause for pause in self.pauses.values() if pause.holds(model)]
        return max(held, key=lambda pause: pause.until or float("inf"), default=None)
