"""Whether an account's provider serves requests for a model now.

When it refuses one for a limit, all requests for that model of that account wait until the time it says, or for a
moment that doubles where it says none. Then one goes first, and the others follow when it was served. A limit is
written down, so that it outlives the gate and the daemon knows of it.
"""

import random
import time

from anyio import Event, sleep

from supervisor.gate.counts import Counts, Shut
from supervisor.gate.limits import Obstacle

FIRST_SECONDS, LONGEST_SECONDS = 1.0, 60.0
#: a reset is told in whole seconds or minutes, and not everybody comes at the same moment
LATE_SECONDS = {"window": 5.0, "rate": 0.5, "overload": 0.0}
LONGEST_SLEEP = 60.0


class Door:
    def __init__(self, shut: Shut | None = None) -> None:
        self.until = shut.until if shut else 0.0
        self.why = shut.why if shut else ""
        self.said = shut.said if shut else ""
        #: refused so many times in a row
        self.times = 1 if shut else 0
        self._probe: Event | None = None

    @property
    def is_shut(self) -> bool:
        return self.times > 0

    async def passed(self) -> None:
        """Until the provider may be asked again. Who gets through a door that was shut tells what came of it."""
        while self.is_shut:
            if (left := self.until - time.time()) > 0:
                await sleep(min(left, LONGEST_SLEEP))
            elif self._probe is None:
                self._probe = Event()
                return
            else:
                await self._probe.wait()

    def shuts(self, obstacle: Obstacle) -> None:
        """Who was let in before it was shut says so late: it does not count twice."""
        now = time.time()
        if self.until <= now:
            self.times += 1
        backoff = min(FIRST_SECONDS * 2.0 ** min(self.times - 1, 10), LONGEST_SECONDS) * random.uniform(0.75, 1.25)
        late = random.uniform(0.1, 1.0) * LATE_SECONDS[obstacle.why]
        told = now + backoff if obstacle.until is None else obstacle.until + late
        self.until, self.why, self.said = max(self.until, told), obstacle.why, obstacle.said
        self.tried()

    def opens(self) -> None:
        self.times, self.until = 0, 0.0
        self.tried()

    def tried(self) -> None:
        """The first one is through, or gave up: the next may try."""
        if self._probe is not None:
            self._probe.set()
            self._probe = None


class Doors:
    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._doors = {(shut.account, shut.model): Door(shut) for shut in counts.shut_doors()}

    def of(self, account: str, model: str) -> Door:
        """Models are named by agents: a door that is not shut is not kept."""
        return self._doors.get((account, model)) or Door()

    def shut(self, account: str, model: str, door: Door, obstacle: Obstacle) -> Door:
        door = self._doors.setdefault((account, model), door)
        door.shuts(obstacle)
        self._counts.shut(Shut(account, model, door.why, door.until, door.said))
        return door

    def opened(self, account: str, model: str, door: Door) -> None:
        if door.is_shut:
            door.opens()
            self._doors.pop((account, model), None)
            self._counts.reopen(account, model)
