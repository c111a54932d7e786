"""The shell blocks of each page, run in order, in a checkout with a mngr that needs neither tmux nor a model.

A page that starts a daemon gets none; every other one finds a daemon and a batch that is over.
"""

from collections.abc import Iterator

import pytest

from supervisor.e2e import E2e, expect
from tests.docs.fences import PAGES, Fence, on
from tests.e2e.supervisorctl.place import TESTS
from tests.e2e.supervisorctl.stage import Stage

pytestmark = pytest.mark.timeout(300)

#: stands in every page for the id of the reader's batch
BATCH = "k3f9x"
RUN = {page: blocks for page in PAGES if (blocks := [each for each in on(page) if each.is_run])}
#: without a window, so that it is the same by day
PROFILES = {"overnight": {"inherits": "default", "slots": 2}}
#: pages that steer a batch whose agents are at work
STEERING = ("docs/night.md",)


@pytest.fixture
def stage(e2e: E2e) -> Iterator[Stage]:
    made = Stage(e2e)
    made.profiles(**PROFILES)
    _leave_out_what_fails(made)
    yield made
    made.clear()


@pytest.mark.parametrize("page", RUN)
def test_the_blocks_of_a_page_can_be_run(e2e: E2e, stage: Stage, page: str) -> None:
    blocks = RUN[page]
    if not any(_starts_a_daemon(each) for each in blocks):
        stage.start()
        stage.until_over(stage.submit())
    if page in STEERING:
        stage.hold(*TESTS)
    for block in blocks:
        text = block.text.replace(BATCH, stage.newest()) if BATCH in block.text else block.text
        expect(e2e.run(f"set -e\n{text}", comment=str(block), timeout=120)).to_succeed()
        if _starts_a_daemon(block):
            stage.answers()


def _leave_out_what_fails(stage: Stage) -> None:
    """`follow` exits 1 when a job has failed, and this agent gives up on test_shout."""
    tests = stage.repo / "tests" / "e2e" / "test_greet.py"
    tests.write_text(tests.read_text().partition("\n\ndef test_shout")[0])
    stage.e2e.run("git commit -qam 'Shout no more'", comment="a repository whose tests all can be worked on")


def _starts_a_daemon(block: Fence) -> bool:
    return "supervisord &" in block.text
