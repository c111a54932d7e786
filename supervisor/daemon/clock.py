"""The time, which does not jump while something is under way.

A clock that is set forward would end every agent for want of time, one that is set back would let none of what is due
happen. So as long as anything waits for its time, what has passed is counted by a clock that nobody sets; the new
time is taken over when nothing does. A window waits for the time of day itself, and so for nothing else.
"""

import time
from collections.abc import Callable

import structlog

log = structlog.get_logger()

#: What the wall clock may be off by at once without having been set: less is followed as it comes.
JUMP_SECONDS = 30.0


def passed() -> float:
    """Also while the machine slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class SteadyClock:
    def __init__(
        self, wall: Callable[[], float], passed: Callable[[], float] = passed, *, is_waiting: Callable[[], bool]
    ) -> None:
        self._wall, self._passed, self._is_waiting = wall, passed, is_waiting
        #: what the wall clock showed when nothing had passed
        self._start = wall() - passed()
        self._is_told = False

    def __call__(self) -> float:
        steady = self._start + self._passed()
        set_by = self._wall() - steady
        if abs(set_by) <= JUMP_SECONDS or not self._is_waiting():
            self._start, self._is_told = self._start + set_by, False
            return steady + set_by
        if not self._is_told:
            self._is_told = True
            log.warning(
                "the clock was set: what is under way goes by the time that has passed", seconds=round(set_by)
            )
        return steady
