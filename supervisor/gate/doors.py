"""Whether an account's provider serves requests for a model now.

When the provider refuses a request for a limit, all requests for that model of that account wait until the time it
names, or with exponential backoff if it names none. Then one request probes, and the others follow once it is served.
A limit is stored, so that it survives a restart of the gate and the daemon knows of it.
"""

import random
import time

from anyio import Event, sleep

from supervisor.gate.counts import Counts, Shut
from supervisor.gate.limits import Obstacle

FIRST_SECONDS, LONGEST_SECONDS = 1.0, 60.0
#: extra delay, because a reset time is rounded to seconds or minutes; random, to spread the requests
LATE_SECONDS = {"window": 5.0, "rate": 0.5, "overload": 0.0}
LONGEST_SLEEP = 60.0


class Door:
    def __init__(self, shut: Shut | None = None) -> None:
        self.until = shut.until if shut else 0.0
        self.why = shut.why if shut else ""
        self.said = shut.said if shut else ""
        #: number of refusals in a row
        self.times = 1 if shut else 0
        self._probe: Event | None = None

    @property
    def is_shut(self) -> bool:
        return self.times > 0

    async def passed(self) -> None:
        """Wait until the provider may be asked again. A caller that passes a shut door must report the result."""
        while self.is_shut:
            if (left := self.until - time.time()) > 0:
                await sleep(min(left, LONGEST_SLEEP))
            elif self._probe is None:
                self._probe = Event()
                return
            else:
                await self._probe.wait()

    def shuts(self, obstacle: Obstacle) -> None:
        """Shut the door. A late refusal of a request sent before the door was shut does not count again."""
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
        """The probe has a result, or gave up: the next request may try."""
        if self._probe is not None:
            self._probe.set()
            self._probe = None


class Doors:
    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._doors = {(shut.account, shut.model): Door(shut) for shut in counts.shut_doors()}

    def of(self, account: str, model: str) -> Door:
        """The door of a model. Agents choose the names of models, so an open door is not stored."""
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
