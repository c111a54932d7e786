"""A clock that does not jump while something is under way.

A clock that is set forward would end every agent at its deadline; one that is set back would delay everything that is
due. So while anything waits for time to pass, that time is measured by a clock that nobody sets; the new time of day
is adopted when nothing waits. A window waits for the time of day itself, so it does not count.
"""

import time
from collections.abc import Callable

import structlog

log = structlog.get_logger()

#: If the wall clock is off by more than this, it was set; a smaller difference is adopted at once.
JUMP_SECONDS = 30.0


def passed() -> float:
    """The time that has passed, also while the machine slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class SteadyClock:
    def __init__(
        self, wall: Callable[[], float], passed: Callable[[], float] = passed, *, is_waiting: Callable[[], bool]
    ) -> None:
        self._wall, self._passed, self._is_waiting = wall, passed, is_waiting
        #: the wall-clock time at which `passed` was 0
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
