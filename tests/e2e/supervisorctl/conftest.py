"""What a chapter begins with: a checkout; a daemon beside it; a batch that is over; one whose agents are at work."""

from collections.abc import Iterator

import pytest

from supervisor.e2e import E2e
from supervisor.e2e.spawned import Spawned
from tests.e2e.supervisorctl.stage import Stage


@pytest.fixture
def stage(e2e: E2e) -> Iterator[Stage]:
    made = Stage(e2e)
    yield made
    made.close()


@pytest.fixture
def daemon(stage: Stage) -> Spawned:
    return stage.start()


@pytest.fixture
def batch(stage: Stage, daemon: Spawned) -> str:
    """It is over: test_hello is improved, test_goodbye clean, test_shout failed."""
    submitted = stage.submit()
    stage.until_over(submitted)
    return submitted


@pytest.fixture
def held(stage: Stage, daemon: Spawned) -> str:
    """Its three agents are at work until `stage.release()`."""
    stage.hold("test_hello", "test_goodbye", "test_shout")
    submitted = stage.submit()
    stage.until_running(submitted, 3)
    return submitted
