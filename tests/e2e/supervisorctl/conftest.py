"""What a chapter begins with: a checkout; a daemon beside it; a batch that is over; one whose agents are at work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.e2e import E2e
from supervisor.e2e.spawned import Spawned
from tests.e2e.supervisorctl import elsewhere
from tests.e2e.supervisorctl.elsewhere import WithBatch
from tests.e2e.supervisorctl.place import TESTS, Place
from tests.e2e.supervisorctl.stage import Stage

HERE = Path(__file__).parent
#: a test takes two or three; but the machine may be busy
LIMIT_SECONDS = 300


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(LIMIT_SECONDS))


@pytest.fixture
def stage(e2e: E2e) -> Iterator[Stage]:
    made = Stage(e2e)
    yield made
    made.clear()


@pytest.fixture
def installed(stage: Stage) -> None:
    """Programs are started as a person does it, for what a fork can't be, such as killed at once by `kill -9`."""
    stage.use_installed()


@pytest.fixture
def daemon(stage: Stage) -> Spawned:
    """The test's own, with nothing to do."""
    return stage.start()


@pytest.fixture
def held(stage: Stage, daemon: Spawned) -> str:
    """The test's own batch, whose three agents are at work until `stage.release()`."""
    stage.hold(*TESTS)
    submitted = stage.submit()
    stage.until_running(submitted, 3)
    return submitted


@pytest.fixture(scope="session")
def finished_place() -> Iterator[WithBatch]:
    with elsewhere.finished() as place:
        yield place


@pytest.fixture
def batch(e2e: E2e, stage: Stage, finished_place: WithBatch) -> str:
    """It is over, and nothing else is there. For tests that only look, or are refused: they share its daemon."""
    stage.visit(finished_place)
    e2e.env["batch"] = finished_place.batch
    return finished_place.batch


@pytest.fixture(scope="session")
def busy_place() -> Iterator[WithBatch]:
    with elsewhere.busy() as place:
        yield place


@pytest.fixture
def at_work(e2e: E2e, stage: Stage, busy_place: WithBatch) -> str:
    """A batch whose three agents are at work, for tests that only look, or are refused: they share its daemon."""
    stage.visit(busy_place)
    e2e.env["batch"] = busy_place.batch
    return busy_place.batch


@pytest.fixture(scope="session")
def idle_place() -> Iterator[Place]:
    with elsewhere.idle() as place:
        yield place


@pytest.fixture
def idle(stage: Stage, idle_place: Place) -> None:
    """A daemon without slots, for tests that only submit: they share it."""
    stage.visit(idle_place)


@pytest.fixture
def shared(batch: str) -> None:
    """That daemon, where the batch does not matter."""
