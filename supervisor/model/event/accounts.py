"""Events of accounts: what they may be used for, when they are paused, and how many agents they serve."""

from dataclasses import dataclass

from supervisor.model.account import UNLIMITED, AccountSpec, Budget
from supervisor.model.event.subjects import Event


@dataclass(frozen=True, slots=True)
class AccountsConfigured(Event):
    """The accounts and the budget were configured, at a start or a reload."""

    accounts: tuple[AccountSpec, ...] = ()
    budget: Budget = UNLIMITED


@dataclass(frozen=True, slots=True)
class AccountPaused(Event):
    """Nothing is launched on an account until a time, or until a person resumes it."""

    account: str
    #: "window", "rate", "overload", "login", "credit", "cap", "no-use" or "pace"
    reason: str
    #: 0: until a person resumes it
    until: float = 0.0
    #: a part of the names of the models that are paused; "": all
    model: str = ""
    detail: str = ""
    #: how often in a row
    tries: int = 1


@dataclass(frozen=True, slots=True)
class AccountOpened(Event):
    """A pause of an account is over."""

    account: str
    reason: str
    model: str = ""
    #: who resumed it; "": its time was over, or it serves again
    author: str = ""


@dataclass(frozen=True, slots=True)
class LevelChanged(Event):
    """An account is given more agents at a time, because it served all it had; or fewer, because it refused some."""

    account: str
    agents: int
    reason: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class AccountWindowSeen(Event):
    """The provider reported what share of one of the account's windows is used, and the report is news."""

    account: str
    #: the length of the window
    minutes: int
    #: the share from 0 to 1, by agents and people together
    used: float
    resets_at: float
    #: when the provider said so
    told_at: float = 0.0
