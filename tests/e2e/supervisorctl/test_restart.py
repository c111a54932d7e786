"""Restarting: agents live on, nothing is forgotten, and what can't be read is not started over."""

from supervisor.e2e import E2e, expect, processes
from supervisor.e2e.spawned import Spawned
from tests.e2e.supervisorctl.place import PATIENCE_SECONDS
from tests.e2e.supervisorctl.stage import Stage

AGAIN = """
supervisord --config ~/supervisor.toml &
daemon=$!
"""


def test_stop(e2e: E2e, stage: Stage, installed: None, held: str, daemon: Spawned) -> None:
    """The daemon ends well, and its agents are where they were.

    Tutorial block:
        # stop the daemon: its agents live on, and work
        kill "$daemon"
    """
    agents = stage.agents()
    expect(e2e.run('kill "$daemon"', comment="stop the daemon")).to_succeed()
    expect(daemon.wait()).to_succeed()
    assert len(agents) == 3
    assert all(processes.started_at(agent) == since for agent, since in agents)
    expect(e2e.run('supervisorctl status "$batch"', comment="nobody answers")).to_have_exit_code(3)


def test_start_again(e2e: E2e, stage: Stage, held: str, daemon: Spawned) -> None:
    """The same agents are found, and what they did meanwhile is collected: no job is begun twice.

    Tutorial block:
        # start it again, of a later version if you like: it finds its agents and goes on
        supervisord --config ~/supervisor.toml &
        daemon=$!
    """
    agents = stage.agents()
    e2e.run('kill "$daemon"', comment="stop the daemon")
    daemon.wait()
    e2e.run(AGAIN, comment="start it again", keep_background=True)
    stage.answers()
    assert (stage.agents(), stage.jobs(held)["running"]) == (agents, 3)
    stage.release()
    stage.until_over(held)
    assert stage.outcomes(held) == ["improved", "clean", "failed"]
    assert [stage.job(held, number)["attempts"] for number in (1, 2, 3)] == [1, 1, 1]


def test_start_again_after_a_crash(e2e: E2e, stage: Stage, installed: None, held: str, daemon: Spawned) -> None:
    """A daemon that was killed, and whose agents have worked on without it, has forgotten nothing.

    Tutorial block:
        # start it again, of a later version if you like: it finds its agents and goes on
        supervisord --config ~/supervisor.toml &
        daemon=$!
    """
    e2e.run('kill -9 "$daemon"', comment="a crash")
    expect(daemon.wait()).to_be_killed_by("SIGKILL")
    stage.release()
    e2e.run(AGAIN, comment="start it again", keep_background=True)
    stage.answers()
    stage.until_over(held)
    assert stage.outcomes(held) == ["improved", "clean", "failed"]


def test_wait_over_a_restart(e2e: E2e, stage: Stage, held: str, daemon: Spawned) -> None:
    """It waits for the daemon, too.

    Tutorial block:
        # who waits, or follows, is not disturbed by any of that
        supervisorctl wait "$batch"
    """
    waiting = e2e.spawn('supervisorctl wait "$batch"', comment="who waits")
    waiting.wait_for(f"waiting for batch {held}", PATIENCE_SECONDS)
    following = e2e.spawn('supervisorctl follow "$batch"', comment="who follows")
    following.wait_for("launch-succeeded", PATIENCE_SECONDS)
    e2e.run('kill "$daemon"', comment="stop the daemon")
    daemon.wait()
    stage.start()
    stage.release()
    expect(waiting.wait()).to_have_exit_code(1).stdout.to_contain(f"batch {held}: finished")
    expect(following.wait()).to_have_exit_code(1).stdout.to_contain("batch-finished", f"batch {held}: finished")
    expect(following.output).not_to_contain("error")


def test_hangup(e2e: E2e, daemon: Spawned) -> None:
    """As `reload` does; a file that can't be used changes nothing, and the log says so.

    Tutorial block:
        # a signal reads the configuration again, too
        kill -HUP "$daemon"
    """
    e2e.run("sed -i 's/^slots = 4/slots = 5/' ~/supervisor.toml", comment="one more")
    e2e.run('kill -HUP "$daemon"')
    daemon.wait_for("configuration reloaded", PATIENCE_SECONDS)
    expect(e2e.run("supervisorctl status")).stdout.to_match("^local +local +0/5 ")
    e2e.run("sed -i 's/^slots = 5/slots =/' ~/supervisor.toml", comment="a slip")
    e2e.run('kill -HUP "$daemon"')
    daemon.wait_for("the last good one stays", PATIENCE_SECONDS)
    expect(e2e.run("supervisorctl status")).stdout.to_match("^local +local +0/5 ")


def test_drain(e2e: E2e, stage: Stage, held: str) -> None:
    """It says how many agents are left, and ends when none is; those that take longer than one has are left to work.

    Tutorial block:
        # before the machine goes down: launch nothing more, and wait until no agent is left
        supervisorctl drain --deadline 1800
    """
    late = e2e.run("supervisorctl drain --deadline 0.5", comment="in a hurry")
    expect(late).to_have_exit_code(124).stdout.to_contain("3 agents are left; they continue")
    draining = e2e.spawn("supervisorctl drain --deadline 1800", comment="before the machine goes down")
    draining.wait_for("draining: 3 agents are left", PATIENCE_SECONDS)
    stage.release()
    expect(draining.wait()).to_succeed().stdout.to_contain("drained: no agent is left, and none is launched")


def test_the_end_of_a_drain(e2e: E2e, stage: Stage, held: str) -> None:
    """Whoever waits for it is told, and what is queued is launched.

    Tutorial block:
        # a drain, too, ends with a resume
        supervisorctl resume
    """
    draining = e2e.spawn("supervisorctl drain", comment="which takes its time")
    draining.wait_for("3 agents are left", PATIENCE_SECONDS)
    more = e2e.run("supervisorctl submit tests/e2e -- -k hello", comment="has to wait").stdout.strip()
    assert stage.jobs(more)["queued"] == 1
    expect(e2e.run("supervisorctl resume")).to_succeed().stdout.to_contain("resumed")
    expect(draining.wait()).to_have_exit_code(4).stderr.to_contain("a resume ended the drain")
    stage.until_running(more, 1)


SPOIL = """python - ~/.local/state/agent-supervisor/journal.sqlite3 <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as journal:
    journal.execute("UPDATE events SET body = 'garbage' WHERE kind = 'launch-succeeded' AND job = 3")
END
"""


def test_salvage(e2e: E2e, stage: Stage, held: str, daemon: Spawned) -> None:
    """A damaged journal is refused; what can be read is saved, what is lost is named; no agent is forgotten.

    Tutorial block:
        # a journal that a disk has damaged is refused, never started over: save what can be read, then start
        supervisord --config ~/supervisor.toml --salvage
        supervisord --config ~/supervisor.toml &
        supervisorctl resume     # what was lost may have had agents: nothing is launched until somebody has looked
    """
    daemon.stop()
    expect(e2e.run(SPOIL, comment="a disk goes bad")).to_succeed()
    refused = e2e.run("supervisord --config ~/supervisor.toml", comment="it is not started over")
    expect(refused).to_have_exit_code(2).stderr.to_match("^hint: .*--salvage")
    saved = e2e.run("supervisord --config ~/supervisor.toml --salvage", comment="recover what can be read")
    expect(saved).to_have_exit_code(1).stdout.to_match(r"^saved \d+ events").to_match(
        r"^lost: event \d+ \(launch-succeeded\)"
    )
    e2e.run("supervisord --config ~/supervisor.toml &", comment="then start", keep_background=True)
    stage.answers()
    stage.until_running(held, 3)
    resumed = e2e.run("supervisorctl resume", comment="all agents are known")
    expect(resumed).to_succeed().stdout.to_contain("resumed")
    stage.release()
    stage.until_over(held)
    assert stage.outcomes(held) == ["improved", "clean", "failed"]


def test_salvage_beside_a_daemon(e2e: E2e, stage: Stage, shared: None) -> None:
    """A journal that is in use is not to be saved.

    Tutorial block:
        # a journal that a disk has damaged is refused, never started over: save what can be read, then start
        supervisord --config ~/supervisor.toml --salvage
        supervisord --config ~/supervisor.toml &
        supervisorctl resume     # what was lost may have had agents: nothing is launched until somebody has looked
    """
    refused = e2e.run("supervisord --config ~/supervisor.toml --salvage", comment="while the daemon runs")
    expect(refused).to_have_exit_code(4).stderr.to_match("^hint: ")
    assert stage.has_daemon()
