"""Why a job ended."""

from enum import StrEnum


class Outcome(StrEnum):
    #: a failing test passes now, by a change to the implementation, the test or the tutorial
    FIXED = "fixed"
    #: a passing test is truer now
    IMPROVED = "improved"
    #: nothing to do, and nothing was done
    CLEAN = "clean"
    #: the agent says that something beyond its reach is missing
    BLOCKED = "blocked"
    #: the agent gave up, or its claim did not hold
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    #: its agent did nothing for too long, again and again
    STALLED = "stalled"
    #: its agent went away without publishing, again and again
    LOST = "lost"
    CANCELLED = "cancelled"
