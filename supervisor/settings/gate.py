"""The keys of `[gate]`."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from supervisor.settings.values import Duration, address, provider_url


class UpstreamTable(BaseModel, frozen=True, extra="forbid"):
    """A provider behind the gate, with the key of an account. There can be several `[[gate.upstreams]]`."""

    #: what its API is: `anthropic` (Messages) or `openai` (Responses and Chat Completions)
    api: Literal["anthropic", "openai"]
    #: where it is, without the version of its API, such as `https://api.anthropic.com`
    url: Annotated[str, AfterValidator(provider_url)]
    #: where the gate reads the key: `credential:NAME` (of the gate's unit), `file:/PATH` or `env:NAME`
    key: Annotated[str, Field(pattern=r"^(credential:[A-Za-z0-9_.-]+|file:/.+|env:[A-Za-z_][A-Za-z0-9_]*)$")]
    #: the account whose agents use it; empty: every account without an upstream of its own
    account: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]{0,62})?$")] = ""


class GateTable(BaseModel, frozen=True, extra="forbid"):
    """The gate between the agents of this machine and their model, a service of its own: see docs/gate.md."""

    #: launch agents with the gate's address and a placeholder key, instead of with their provider's
    on: bool = False
    #: the address and port on which the gate listens
    listen: Annotated[str, AfterValidator(address)] = "127.0.0.1:8647"
    #: how long a request is held while its provider refuses it for a limit or an overload
    hold_seconds: Duration = 900
    upstreams: tuple[UpstreamTable, ...] = ()

    @model_validator(mode="after")
    def _upstreams_are_told_apart(self) -> Self:
        if self.on and not self.upstreams:
            raise ValueError("the gate is on, but there are no `[[gate.upstreams]]` to pass requests on to")
        named = [(upstream.api, upstream.account) for upstream in self.upstreams]
        if doubled := [each for each in named if named.count(each) > 1]:
            api, account = doubled[0]
            raise ValueError(f"there are two upstreams of the API {api} for {account or 'every account'}")
        return self
