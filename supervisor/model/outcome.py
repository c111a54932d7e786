"""Why a job ended."""

from enum import StrEnum


class Outcome(StrEnum):
    #: a failing test now passes, after a change to the implementation, the test or the tutorial
    FIXED = "fixed"
    #: a passing test has stronger assertions now
    IMPROVED = "improved"
    #: nothing needed to be done
    CLEAN = "clean"
    #: the verified work of a sibling makes its test pass: it had no agent
    FIXED_BY_SIBLING = "fixed-by-sibling"
    #: the agent reports that it needs something it can't provide
    BLOCKED = "blocked"
    #: the agent gave up, or its claim was refuted
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    #: its agents did nothing for too long, until the retries were used up
    STALLED = "stalled"
    #: its agents ended without publishing, until the retries were used up
    LOST = "lost"
    CANCELLED = "cancelled"


#: claims of success: work under any other claim is not worth a run
SUCCESSES = (Outcome.FIXED, Outcome.IMPROVED, Outcome.CLEAN)
