"""Daemons that tests share, because they change nothing there that another one sees."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supervisor.e2e.environment import Home, environment
from tests.e2e.supervisorctl.place import TESTS, Place
from tests.zygote import programs

DAY_SECONDS = 86400


class Elsewhere(Place):
    """A place that belongs to no test."""

    def __init__(self, home: Home) -> None:
        super().__init__(home.root)
        self.furnish()
        self._environment = environment(home) | self.environment(os.environ["PATH"])
        # The tests of a whole session share it: no agent has a successor while one of them runs.
        profile = json.loads(self._environment["SUPERVISOR_PROFILES"])["default"]
        patient = profile | {"stall_timeout_seconds": DAY_SECONDS, "job_timeout_seconds": DAY_SECONDS}
        self._environment["SUPERVISOR_PROFILES"] = json.dumps({"default": patient})

    @contextmanager
    def daemon(self) -> Iterator[None]:
        with Path(self.root / "log").open("wb") as log:
            running = subprocess.Popen(
                [str(programs() / "supervisord")], cwd=self.repo, env=self._environment, stdout=log, stderr=log
            )
        try:
            self.until("the daemon answers", self.has_daemon)
            yield
        finally:
            self.clear()
            running.wait()

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [str(programs() / "supervisorctl"), *words],
            cwd=self.repo,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
        return done.stdout.strip()


class WithBatch(Elsewhere):
    batch = ""
    #: of a place that is over: an earlier one, of which no job failed
    good = ""


@contextmanager
def finished() -> Iterator[WithBatch]:
    """Its one batch is over: test_hello was improved, test_goodbye is clean, test_shout failed."""
    home = Home.make()
    place = WithBatch(home)
    with place.daemon():
        place.good = place.run("submit", "tests/e2e", "--", "-k", "hello or goodbye")
        place.until_over(place.good)
        place.batch = place.run("submit", "tests/e2e")
        place.until_over(place.batch)
        place.until("both are put away", lambda: not place.get("/v1/status")["batches"])
        yield place
    home.remove()


@contextmanager
def busy() -> Iterator[WithBatch]:
    """The agents of its one batch are at work for ever."""
    home = Home.make()
    place = WithBatch(home)
    place.hold(*TESTS)
    with place.daemon():
        place.batch = place.run("submit", "tests/e2e")
        place.until_running(place.batch, len(TESTS))
        yield place
    home.remove()


@contextmanager
def idle() -> Iterator[Place]:
    """It has no slots: what is submitted waits for ever."""
    home = Home.make()
    place = Elsewhere(home)
    with place.daemon():
        place.run("slots", "0")
        yield place
    home.remove()
