"""The schemas of questions about a batch that is not submitted yet."""

from typing import Annotated, Any

from pydantic import Field

from supervisor.control.messages import WHOLE, Asked, Dated, Select, Text


class Planning(Asked):
    """Tests that would be submitted. They are chosen from in this order: `select`, `sample`, `limit`."""

    repo: Annotated[str, Field(min_length=1, max_length=4096, pattern="^/")]
    base: Annotated[str, Field(pattern="^[0-9a-f]{40}$")]
    tests: Annotated[list[Annotated[Text, Field(min_length=1)]], Field(min_length=1, max_length=100_000)]
    cases: Annotated[
        list[Annotated[int, Field(ge=1, le=1_000_000), WHOLE]], Field(max_length=100_000, default_factory=list)
    ]
    profile: Annotated[str, Field(max_length=64)] = "default"
    select: Annotated[Select | None, Field(description="Default: the profile's.")] = None
    since: Annotated[
        str, Field(max_length=200, pattern="^[^-]?", description="Only what changes after this commit may concern.")
    ] = ""
    limit: Annotated[int, Field(ge=0, le=100_000), WHOLE] = 0
    sample: Annotated[int, Field(ge=0, le=100_000), WHOLE] = 0
    seed: Annotated[str, Field(max_length=64, description="Of the sample and the audit; default: the base.")] = ""
    passing: Annotated[
        list[Text],
        Field(
            max_length=100_000, default_factory=list, description="Tests that were seen to pass: `red` skips them."
        ),
    ]
    slots: Annotated[int, Field(ge=0, le=100_000, description="0: those of the pools."), WHOLE] = 0


class Planned(Dated):
    """What a batch would come to: its jobs, and what is left out and why."""

    jobs: int
    tests: list[str]
    cases: list[int]
    select: str
    seed: str
    skipped: list[dict[str, str]]
    #: of `tests`, those that are run to find out whether the selector is right
    audited: list[str]
    #: how often the selector was wrong so far, as far as it is known
    selector: dict[str, Any]
    #: tokens, hours and slots; null: there is nothing to estimate
    estimate: dict[str, Any] | None
