"""A verdict: what verification found out about a job's work by running it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from supervisor.model.evidence import Evidence

type Verification = Literal[
    "",  # not verified yet, or by a version that did not record it
    "verified",  # every clean run passed, and no other test broke
    "flaky",  # some of the runs passed
    "unverified",  # no run passed, another test broke, or the agent does not claim success
    "refused",  # by policy
    "not-needed",  # there is no work to verify, or verification is switched off
]

#: verifications that forbid a merge
UNPROVEN: frozenset[str] = frozenset({"flaky", "unverified", "refused"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is true of a job's work; `outcome` replaces the agent's claim."""

    #: "": not verified yet
    outcome: str = ""
    detail: str = ""
    verification: Verification = "not-needed"
    #: why, for the ledger; for `refused` it starts with the name of the rule
    reason: str = ""
    #: the number of clean runs of the test, and of those that passed
    runs: int = 0
    passed: int = 0
    #: whether the test failed before the work; None: unknown
    failed_before: bool | None = None
    #: commits that state a wrong kind, with the kind that their diff shows
    relabelled: Mapping[str, str] = field(default_factory=dict)
    #: sentences for the reviewer about what a machine can't decide; none for unsuspicious work
    doubts: tuple[str, ...] = ()
    #: None: nothing was tried
    evidence: Evidence | None = None


#: before a job has been verified
UNJUDGED = Verdict(verification="")
