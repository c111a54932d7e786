"""The tables of accounts, budgets, prices and refusals, and what the core needs of them."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from supervisor.model.account import FIRST_LEVEL, AccountSpec, Caps
from supervisor.model.price import Price
from supervisor.settings.values import Duration, environment, timezone_name, window_of_day
from supervisor.transcripts.refusals import Phrase, phrase

type Tokens = Annotated[int, Field(ge=0)]
type Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CapsTable(Table):
    """What may be spent. 0: no limit."""

    #: tokens of all kinds in a day, cached ones included
    day_tokens: Tokens = 0
    #: tokens in a week, which begins on Monday
    week_tokens: Tokens = 0
    #: dollars in a day, by the table of prices
    day_dollars: Dollars = 0
    #: dollars in a week
    week_dollars: Dollars = 0

    def caps(self) -> Caps:
        return Caps(self.day_tokens, self.week_tokens, self.day_dollars, self.week_dollars)


class BudgetTable(CapsTable):
    """What may be spent on all accounts together: tokens with subscriptions, dollars where money is paid."""

    #: the tokens that a job is believed to use, until some have ended
    guess_tokens: Annotated[int, Field(ge=1)] = 1_000_000
    #: how long agents at work have to publish when a cap is reached
    grace: Duration = 300
    #: the time zone of days; empty: this machine's
    timezone: Annotated[str, AfterValidator(lambda name: name and timezone_name(name))] = ""


class AccountTable(CapsTable):
    """A login or a key, `[accounts.NAME]`: profiles name it by `account`. Without one, all agents of a kind share an
    account of the kind's name, such as `claude`; a table of that name sets its limits."""

    #: variables for its agents, over those of their profile; `credential:NAME` is replaced by that credential file
    env: Annotated[dict[str, str], AfterValidator(environment)] = {}
    #: how tokens are paid for; default: `money` if a variable of `env` ends in `_API_KEY`
    pays: Literal["subscription", "money"] | None = None
    #: the number of agents at a time that it begins with; it finds the right one by itself
    start: Annotated[int, Field(ge=1)] = FIRST_LEVEL
    #: the most agents at a time; 0: as many as it serves
    slots: Annotated[int, Field(ge=0)] = 0
    #: the share of its caps, and of its subscription's windows, that is left for people, such as 0.2
    leave: Annotated[float, Field(ge=0, lt=1)] = 0
    #: a daily time such as "9:00-18:00" in which nothing is launched on it, and the gate lets nobody ask
    no_use: Annotated[str, AfterValidator(window_of_day)] = ""
    #: spread what its caps and its subscription's windows allow evenly over their time
    pace: bool = False
    #: the time zone of its days and of `no_use`; empty: that of the budget
    timezone: Annotated[str, AfterValidator(lambda name: name and timezone_name(name))] = ""

    def spec(self, name: str, timezone: str) -> AccountSpec:
        has_key = any(variable.endswith("_API_KEY") for variable in self.env)
        return AccountSpec(
            name=name,
            env=self.env,
            is_paid=has_key if self.pays is None else self.pays == "money",
            first=self.start,
            slots=self.slots,
            caps=self.caps(),
            leave=self.leave,
            no_use=self.no_use,
            pace=self.pace,
            timezone=self.timezone or timezone,
        )


class PriceTable(Table):
    """What a model costs, in dollars for a million tokens: `[[prices]]` come before the built-in ones."""

    #: a part of the model's name, such as `opus`
    model: Annotated[str, Field(min_length=1)]
    #: input that was neither read from a cache nor written to one
    input: Dollars
    #: input that was written to a cache
    cache_write: Dollars
    #: input that was read from a cache
    cache_read: Dollars
    #: output
    output: Dollars

    def price(self) -> Price:
        return Price(self.model.lower(), self.input, self.cache_write, self.cache_read, self.output)


class RefusalTable(Table):
    """How to recognise a refusal by what an agent's program writes: `[[refusals]]` come before the built-in ones."""

    #: a regular expression for the text, in which case does not matter
    match: Annotated[str, Field(min_length=1)]
    #: what it means
    means: Literal["window", "rate", "overload", "login", "credit"]

    @model_validator(mode="after")
    def _is_an_expression(self) -> Self:
        try:
            self.phrase()
        except re.error as error:
            raise ValueError(f"{self.match!r} is no regular expression: {error}") from error
        return self

    def phrase(self) -> Phrase:
        return phrase(self.means, self.match)
