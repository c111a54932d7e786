"""The keys of alerts: their rules, and who is told."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from supervisor.model.alert import DEFAULT_RULES, AlertKind, Rule
from supervisor.settings.values import Duration, Name, Words, url_or_secret
from supervisor.settings.values import secret as place_of_secret

#: the key that holds the number of each kind of rule; the other kinds have none
NUMBERS: Mapping[AlertKind, str] = MappingProxyType(
    {
        AlertKind.SAME_FAILURE: "jobs",
        AlertKind.TIME_OUTS: "jobs",
        AlertKind.BUDGET: "share",
        AlertKind.PAUSED: "after",
        AlertKind.NOT_MOVING: "after",
        AlertKind.IDLE_AGENT: "tokens",
    }
)


class AlertTable(BaseModel, frozen=True, extra="forbid"):
    """Change one of the rules for alerts. Rules that are not mentioned keep their defaults."""

    #: what the rule looks for
    when: AlertKind
    #: for `same-failure` (default 5) and `time-outs` (10): the number of jobs
    jobs: Annotated[int, Field(ge=1)] | None = None
    #: for `budget` (default 0.8): the share of a batch's budget, or of a cap, that is used
    share: Annotated[float, Field(gt=0, le=1)] | None = None
    #: for `paused` (default "1h") and `not-moving` ("2h"): the time
    after: Duration | None = None
    #: for `idle-agent` (default 1000000): the tokens that an agent has used since it last used a tool
    tokens: Annotated[int, Field(ge=1)] | None = None
    #: `false` switches the rule off
    enabled: bool = True

    @model_validator(mode="after")
    def _has_the_number_of_its_kind(self) -> Self:
        own = NUMBERS.get(self.when, "")
        for key in ("jobs", "share", "after", "tokens"):
            if key != own and getattr(self, key) is not None:
                which = f"its number is `{own}`" if own else "it has no number"
                raise ValueError(f"an alert with when = {str(self.when)!r} has no `{key}`: {which}")
        return self


class WebhookTable(BaseModel, frozen=True, extra="forbid"):
    """A program that is told of alerts, and of their end, by an HTTP request. There can be several `[[webhooks]]`."""

    #: a name of its own
    name: Name
    #: where to post: a URL, or where it is kept, such as `credential:slack-url` or `env:SLACK_URL`
    url: Annotated[str, AfterValidator(url_or_secret)]
    #: what requests are signed with, such as `credential:hook-secret` or `env:HOOK_SECRET`; empty: unsigned
    secret: Annotated[str, AfterValidator(place_of_secret)] = ""
    #: the kinds of alerts that it is told of; empty: all
    only: tuple[AlertKind, ...] = ()


class MailTable(BaseModel, frozen=True, extra="forbid"):
    """People who are told of alerts, and of their end, by mail: the system's `sendmail` sends it."""

    #: their addresses; empty: no mail is sent
    to: Annotated[Words, AfterValidator(lambda said: tuple(map(_address, said)))] = ()
    #: the sender's address; empty: what `sendmail` makes it
    sender: Annotated[str, AfterValidator(lambda said: said and _address(said))] = ""
    #: the kinds of alerts that are sent; empty: all
    only: tuple[AlertKind, ...] = ()


def _address(text: str) -> str:
    name, _, domain = text.partition("@")
    if not name or name.startswith("-") or not domain or not text.isprintable() or set(text) & set(' ,;<>"'):
        raise ValueError(f"{text!r} is not a mail address such as team@example.org")
    return text


def rules(tables: Iterable[AlertTable]) -> tuple[Rule, ...]:
    """The rules that hold: those that are configured, and the defaults of the kinds that are not mentioned."""
    said = {table.when: table for table in tables}
    return tuple(rule for default in DEFAULT_RULES if (rule := _rule(default, said.get(default.kind))) is not None)


def _rule(default: Rule, said: AlertTable | None) -> Rule | None:
    if said is None:
        return default
    if not said.enabled:
        return None
    number = getattr(said, NUMBERS[said.when]) if said.when in NUMBERS else None
    return default if number is None else Rule(said.when, number)
