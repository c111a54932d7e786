"""Writers: they fill seeds and write tests; a person decides. On the rehearsal's tool, by the rehearsal's writer."""

import pytest

from supervisor.e2e import E2e, expect
from tests.e2e.supervisorctl.stage import Stage

FILL = """
batch=$(supervisorctl tutorial fill tutorial.sh --json | jq -r .batch)
supervisorctl wait "$batch"
"""
SYNC = """
batch=$(supervisorctl tutorial sync tutorial.sh --tests tests/e2e --json | jq -r .batch)
supervisorctl wait "$batch"
supervisorctl tutorial sync tutorial.sh --accept "$batch"
"""


@pytest.fixture
def pantry(stage: Stage) -> None:
    stage.rehearse()
    stage.start()


def test_fill_and_accept(e2e: E2e, stage: Stage, pantry: None) -> None:
    """Nothing is in the tutorial until it is accepted, and then its block is."""
    e2e.write_tutorial_block("""
        # let writers fill what has still to be written, a job for each comment without a command
        batch=$(supervisorctl tutorial fill tutorial.sh --json | jq -r .batch)
        supervisorctl wait "$batch"
    """)
    e2e.write_tutorial_block("""
        # look at what they propose, with what it printed; what you accept is written into the tutorial
        supervisorctl tutorial fill tutorial.sh --review "$batch"
        supervisorctl tutorial fill tutorial.sh --accept "$batch.1"
    """)
    filled = e2e.run(FILL, comment="let writers fill it", timeout=100)
    expect(filled).to_have_exit_code(1).stdout.to_contain("1 fixed", "1 blocked")
    e2e.env["batch"] = stage.newest()
    shown = e2e.run('supervisorctl tutorial fill tutorial.sh --review "$batch"', comment="what do they propose?")
    expect(shown).to_succeed().stdout.to_contain("+pantry list --tag party")
    expect(e2e.cwd / "tutorial.sh").not_to_contain("--tag party")
    expect(e2e.run('supervisorctl tutorial fill tutorial.sh --accept "$batch.1"')).to_succeed()
    expect(e2e.cwd / "tutorial.sh").to_contain("--tag party")


def test_accept_what_is_not_there(e2e: E2e, stage: Stage, batch: str) -> None:
    """A batch of other work has nothing to accept.

    Tutorial block:
        # look at what they propose, with what it printed; what you accept is written into the tutorial
        supervisorctl tutorial fill tutorial.sh --review "$batch"
        supervisorctl tutorial fill tutorial.sh --accept "$batch.1"
    """
    refused = e2e.run('supervisorctl tutorial fill tutorial.sh --accept "$batch.1"', comment="no writer's batch")
    expect(refused).to_have_exit_code(5).stderr.to_match("^error: ").to_match("^hint: ")


def test_sync(e2e: E2e, stage: Stage, pantry: None) -> None:
    """A citation that is stale follows the tutorial; the test that was written is a commit.

    Tutorial block:
        # let writers bring the tests up to the tutorial, and take what was proven, as commits
        batch=$(supervisorctl tutorial sync tutorial.sh --tests tests/e2e --json | jq -r .batch)
        supervisorctl wait "$batch"
        supervisorctl tutorial sync tutorial.sh --accept "$batch"
    """
    e2e.run("sed -i 's/pantry log --last 2/pantry log --limit 2/' tutorial.sh && git commit -qam 'It is --limit'")
    expect(e2e.run("supervisorctl tutorial check tutorial.sh --tests tests/e2e")).to_have_exit_code(1)
    expect(e2e.run(SYNC, comment="let writers bring the tests up to it", timeout=100)).to_succeed()
    expect(e2e.run("supervisorctl tutorial check tutorial.sh --tests tests/e2e")).to_succeed()
    expect(e2e.run("git status --porcelain && git log --oneline")).stdout.to_have_line_count(3)


def test_sync_with_nothing_to_do(e2e: E2e, idle: None) -> None:
    """Where all is cited both ways, no batch is made.

    Tutorial block:
        # let writers bring the tests up to the tutorial, and take what was proven, as commits
        batch=$(supervisorctl tutorial sync tutorial.sh --tests tests/e2e --json | jq -r .batch)
        supervisorctl wait "$batch"
        supervisorctl tutorial sync tutorial.sh --accept "$batch"
    """
    nothing = e2e.run("supervisorctl tutorial sync tutorial.sh --tests tests/e2e", comment="all is up to date")
    expect(nothing).to_succeed().stdout.to_equal("there is nothing to write\n")


def test_install_command(e2e: E2e, stage: Stage) -> None:
    """It is where the coding agent looks for it; one that was changed is left alone.

    Tutorial block:
        # the same as a slash command of your own coding agent
        supervisorctl tutorial install-command
    """
    command = ".claude/commands/sync-tutorial-to-e2e-tests.md"
    expect(e2e.run("supervisorctl tutorial install-command")).to_succeed().stdout.to_equal(f"{command}\n")
    e2e.run(f"echo 'and be nice' >> {command}", comment="our own words")
    expect(e2e.run("supervisorctl tutorial install-command")).to_fail().stderr.to_match("^error: ")
    expect(e2e.cwd / command).to_contain("and be nice")
