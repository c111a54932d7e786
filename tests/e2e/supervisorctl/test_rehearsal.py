"""The real mngr, tmux and git, with the rehearsal's agent on the rehearsal's tool."""

import pytest

from supervisor.e2e import E2e, expect
from tests.e2e.supervisorctl.stage import Stage

pytestmark = pytest.mark.real


def test_from_a_test_that_fails_to_a_branch(e2e: E2e, stage: Stage) -> None:
    """An agent fixes the code, its claim is verified, what it said is in its log, its change is on the branch."""
    e2e.write_tutorial_block("""
        # submit, and come back when all is over
        supervisorctl submit tests/e2e --wait
    """)
    e2e.write_tutorial_block("""
        # what an agent said and did; --follow goes on as long as it works
        supervisorctl logs "$batch.1"
    """)
    e2e.write_tutorial_block("""
        # all that held is on one branch in your repository: look at it, and merge it as you merge everything
        branch=$(supervisorctl status "$batch" --json | jq -r .batch.branch)
        git diff "main...$branch"
    """)
    stage.rehearse(with_stub=False)
    stage.start()
    done = e2e.run(
        "supervisorctl submit tests/e2e --wait -- -k untag_takes", comment="a test that fails", timeout=100
    )
    expect(done).to_succeed().stdout.to_contain("1 fixed")
    e2e.env["batch"] = stage.newest()
    expect(e2e.run('supervisorctl logs "$batch.1"')).to_succeed().stdout.to_contain("untag_takes")
    diff = e2e.run(
        """
        branch=$(supervisorctl status "$batch" --json | jq -r .batch.branch)
        git diff "main...$branch"
        """
    )
    expect(diff).to_succeed().stdout.to_match(r"^\+.*if old not in tags")


def test_a_crash_of_the_daemon(e2e: E2e, stage: Stage, installed: None) -> None:
    """The agent in tmux lives on, and is the daemon's again.

    Tutorial block:
        # start it again, of a later version if you like: it finds its agents and goes on
        supervisord --config ~/supervisor.toml &
        daemon=$!
    """
    stage.rehearse(with_stub=False, agent_args=["--scenario", "silent"])
    daemon = stage.start()
    batch = stage.submit("--", "-k", "untag_takes")
    stage.until_running(batch, 1)
    e2e.run('kill -9 "$daemon"', comment="a crash")
    daemon.wait()
    stage.start()
    assert (stage.jobs(batch)["running"], stage.job(batch, 1)["attempts"]) == (1, 1)
    expect(e2e.run('supervisorctl cancel "$batch"')).to_succeed()
    stage.until_over(batch)
