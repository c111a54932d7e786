"""A verdict: what is true of a job's work, as checked by running it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from supervisor.model.evidence import Evidence

type Verification = Literal[
    "",  # not yet, or by a release that did not say
    "verified",  # every clean run passed, and nothing beside it broke
    "flaky",  # some of the runs passed
    "unverified",  # no run passed, something beside it broke, or nobody claims that it works
    "refused",  # by policy
    "not-needed",  # there is no work to verify, or verification is switched off
]

#: what may not be merged
UNPROVEN: frozenset[str] = frozenset({"flaky", "unverified", "refused"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is true of a job's work, as an outcome."""

    #: "": there is none yet
    outcome: str = ""
    detail: str = ""
    verification: Verification = "not-needed"
    #: why, for the ledger; for `refused` it begins with the name of the rule
    reason: str = ""
    #: clean runs of the test, and how many of them passed
    runs: int = 0
    passed: int = 0
    #: whether the test failed before the work; None: unknown
    failed_before: bool | None = None
    #: commits whose kind is not what they say, with the kind that their diff shows
    relabelled: Mapping[str, str] = field(default_factory=dict)
    #: sentences for the reviewer about what no machine can decide; none for honest work
    doubts: tuple[str, ...] = ()
    #: None: nothing was tried
    evidence: Evidence | None = None


#: before a job has been verified
UNJUDGED = Verdict(verification="")
