"""The program of a drill: a life in each pool, then three deaths, and at the end no agent is left."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from supervisor.errors import SupervisorError
from supervisor.rehearsal.drill import advice, intact
from supervisor.rehearsal.drill.course import Course
from supervisor.rehearsal.drill.ground import Ground
from supervisor.rehearsal.drill.leftovers import left_behind
from supervisor.rehearsal.drill.processes import kill_calls
from supervisor.rehearsal.drill.step import Step
from supervisor.settings import Settings
from supervisor.settings.pools import PoolTable

type Tell = Callable[[Step], None]

LOOK_SECONDS = 0.2
#: How long a batch may take where agents are on hosts that exist, and where their host has to be made.
USUAL_SECONDS, MAKING_SECONDS = 90.0, 600.0
#: of a call of mngr, before it is killed: it is in the middle of its work
CALL_SECONDS = 0.4
GONE_SECONDS = 30.0


class Drill:
    """Tells each step as it ends; a pool that failed takes part in no later one."""

    def __init__(self, ground: Ground, judged: Settings, tell: Tell) -> None:
        self._ground, self._judged, self._tell = ground, judged, tell
        self._pools = list(judged.pools)

    def run(self) -> None:
        began = time.monotonic()
        self._ground.prepare()
        self._ground.start()
        self._say("", "daemon starts", began)
        self._life()
        if self._pools:
            self._agent_killed()
            self._call_killed()
            self._daemon_killed()
        self._nobody_left()

    def _life(self) -> None:
        courses = self._submitted(self._pools, "life")
        told: dict[str, int] = {course.pool: 0 for course in courses}
        for course in self._each_as_it_goes_on(courses):
            reached = list(course.reached())
            for name, seconds in reached[told[course.pool] :]:
                self._tell(Step(course.pool, name, True, seconds))
            told[course.pool] = len(reached)
            if course.is_over and (damage := self._damage(course)):
                self._failed(course, "branch", damage)

    def _agent_killed(self) -> None:
        self._death("agent killed", self._submitted(self._pools, "agent"))

    def _call_killed(self) -> None:
        """One pool after the other, so that each has a create that is killed."""
        courses = []
        for pool in list(self._pools):
            [course] = self._submitted([pool], "call")
            self._until(course, "launch-started")
            time.sleep(CALL_SECONDS)
            kill_calls(self._ground.daemon, self._judged.mngr.command)
            courses.append(course)
        self._death("mngr call killed", courses)

    def _daemon_killed(self) -> None:
        courses = self._submitted(self._pools, "daemon")
        for course in courses:
            self._until(course, "launch-succeeded")
        for course in courses:
            course.read(self._ground.client)
        self._ground.kill()
        began = time.monotonic()
        self._ground.start()
        self._say("", "daemon killed", began, "it is back, on the same state")
        for course in courses:
            before, course.events = course.events, []
            course.read(self._ground.client)
            if damage := intact.lost(before, course.events):
                self._failed(course, "daemon killed", damage)
        self._death("daemon killed", courses)

    def _death(self, name: str, courses: Sequence[Course]) -> None:
        for course in self._each_as_it_goes_on(courses, name):
            if not course.is_over:
                continue
            if damage := self._damage(course):
                self._failed(course, name, damage)
            else:
                attempts = len({event["attempt"] for event in course.of("launch-started")})
                self._say(course.pool, name, course.began, f"ledger intact, {_nth(attempts)} agent did the job")

    def _nobody_left(self) -> None:
        """mngr is asked itself, of each provider: the daemon's word is not enough."""
        began, deadline = time.monotonic(), time.monotonic() + GONE_SECONDS
        settings = self._ground.settings
        while True:
            left, problems = left_behind(settings, self._ground.batches, {pool.provider for pool in self._pools})
            if not (left or problems) or time.monotonic() > deadline:
                break
            time.sleep(LOOK_SECONDS)
        if left:
            self._say("", "no agent left", began, f"there are {', '.join(left)}", advice.LEFT)
        elif problems:
            self._say("", "no agent left", began, f"can't be seen: {'; '.join(problems)}", advice.LEFT)
        else:
            self._say("", "no agent left", began)

    # --- parts

    def _submitted(self, pools: Iterable[PoolTable], part: str) -> list[Course]:
        courses = []
        for pool in list(pools):
            within = USUAL_SECONDS if pool.provider == "local" or pool.hosts else MAKING_SECONDS
            batch = self._ground.submit(pool.name, part)
            courses.append(Course(pool.name, batch, within, is_judged=part == "life"))
        return courses

    def _each_as_it_goes_on(self, courses: Sequence[Course], name: str = "") -> Iterator[Course]:
        """Each course after each look, until it is over or in trouble. Of trouble is told here."""
        left = [course for course in courses if self._takes_part(course)]
        while left:
            for course in list(left):
                course.read(self._ground.client)
                yield course
                trouble = course.trouble(self._ground.client) if self._takes_part(course) else ""
                if trouble:
                    self._failed(course, name or course.waits_at, trouble)
                if course.is_over or not self._takes_part(course):
                    left.remove(course)
            time.sleep(LOOK_SECONDS)

    def _until(self, course: Course, kind: str) -> None:
        """Or until there is trouble, of which the look at the end tells."""
        while not course.has(kind) and not course.is_over and not course.trouble(self._ground.client):
            time.sleep(LOOK_SECONDS / 4)
            course.read(self._ground.client)

    def _takes_part(self, course: Course) -> bool:
        return any(pool.name == course.pool for pool in self._pools)

    def _damage(self, course: Course) -> str:
        client = self._ground.client
        batch = client.get(f"/v1/batches/{course.batch}")["batch"]
        return intact.damage(course.events, batch, client.get(f"/v1/batches/{course.batch}/jobs")["rows"])

    def _failed(self, course: Course, name: str, detail: str) -> None:
        [pool] = [each for each in self._pools if each.name == course.pool]
        self._pools.remove(pool)
        self._say(pool.name, name, course.began, *advice.of(self._judged, pool, name, detail))
        with suppress(SupervisorError):  # it is over
            self._ground.client.post(f"/v1/batches/{course.batch}/cancel")

    def _say(self, pool: str, name: str, began: float, detail: str = "", hint: str = "") -> None:
        self._tell(Step(pool, name, not hint, time.monotonic() - began, detail, hint))


def _nth(attempts: int) -> str:
    return {1: "the first", 2: "the second"}.get(attempts, f"agent number {attempts} as the last")
