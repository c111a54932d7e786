"""In scripts: ids, exit codes, JSON, and events that resume."""

import json

from supervisor.e2e import E2e, expect
from supervisor.e2e.spawned import Spawned
from tests.e2e.supervisorctl.elsewhere import WithBatch
from tests.e2e.supervisorctl.stage import Stage

WAIT = """
if supervisorctl wait "$batch"; then
    echo "the night went well"
else
    echo "exit $?: see supervisorctl jobs $batch"
fi
"""


def test_keep_the_id(e2e: E2e, stage: Stage, idle: None) -> None:
    """JSON alone is on standard output, so that a program can read it.

    Tutorial block:
        # keep the id of the batch
        batch=$(supervisorctl submit tests/e2e --json | jq -r .batch)
    """
    kept = e2e.run(
        'batch=$(supervisorctl submit tests/e2e --json | jq -r .batch)\necho "$batch"', comment="keep the id"
    )
    expect(kept).to_succeed().stderr.to_be_empty()
    assert stage.jobs(kept.stdout.strip())["total"] == 3


def test_wait_for_a_night_that_went_well(e2e: E2e, finished_place: WithBatch, batch: str) -> None:
    """When all jobs ended well, the exit code is 0.

    Tutorial block:
        # 0: all went well; 1: some tests need you; anything else: it did not get that far
        if supervisorctl wait "$batch"; then
            echo "the night went well"
        else
            echo "exit $?: see supervisorctl jobs $batch"
        fi
    """
    e2e.env["batch"] = finished_place.good
    expect(e2e.run(WAIT, comment="how did it go?")).stdout.to_have_lines("the night went well")


def test_wait_for_a_night_that_did_not(e2e: E2e, batch: str) -> None:
    """One job that failed is enough for a 1.

    Tutorial block:
        # 0: all went well; 1: some tests need you; anything else: it did not get that far
        if supervisorctl wait "$batch"; then
            echo "the night went well"
        else
            echo "exit $?: see supervisorctl jobs $batch"
        fi
    """
    expect(e2e.run(WAIT, comment="how did it go?")).stdout.to_have_lines(f"exit 1: see supervisorctl jobs {batch}")


def test_wait_so_long(e2e: E2e, at_work: str) -> None:
    """The time that one has may be over before the batch is: 124, and how it stands.

    Tutorial block:
        # wait so long and no longer
        supervisorctl wait "$batch" --timeout 1 || test $? = 124
    """
    waited = e2e.run('supervisorctl wait "$batch" --timeout 1 || test $? = 124', comment="one second")
    expect(waited).to_succeed().stdout.to_contain(f"batch {at_work}: running", "3 running")
    expect(e2e.run('supervisorctl wait "$batch" --timeout 0')).to_have_exit_code(124)


def test_json(e2e: E2e, batch: str) -> None:
    """Counts of each outcome, also of those that did not occur.

    Tutorial block:
        # every verb answers a program in JSON
        supervisorctl status "$batch" --json | jq -c .batch.outcomes
    """
    outcomes = e2e.run('supervisorctl status "$batch" --json | jq -c .batch.outcomes', comment="for a program")
    expect(outcomes).to_succeed().stdout.to_match_json("", {"improved": 1, "clean": 1, "failed": 1, "lost": 0})


def test_which_tests_are_better(e2e: E2e, batch: str) -> None:
    """The rows of a batch have all that a program may want to choose by.

    Tutorial block:
        # which tests are better than they were?
        supervisorctl jobs "$batch" --json | jq -r '.rows[] | select(.outcome == "improved") | .test'
    """
    better = e2e.run(
        """supervisorctl jobs "$batch" --json | jq -r '.rows[] | select(.outcome == "improved") | .test'""",
        comment="which tests are better?",
    )
    expect(better).to_succeed().stdout.to_equal("tests/e2e/test_greet.py::test_hello\n")


def test_new_agents_on_what_failed(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """What the rows say is what `submit` takes.

    Tutorial block:
        # put new agents on the tests that failed
        supervisorctl jobs "$batch" --json |
            jq -r '.rows[] | select(.outcome == "failed") | .test' |
            xargs supervisorctl submit
    """
    stage.until_over(stage.submit())
    again = e2e.run(
        """
        supervisorctl jobs "$batch" --json |
            jq -r '.rows[] | select(.outcome == "failed") | .test' |
            xargs supervisorctl submit
        """,
        comment="once more",
    )
    expect(again).to_succeed()
    [job] = stage.get(f"/v1/batches/{again.stdout.strip()}/jobs")["rows"]
    assert job["test"] == "tests/e2e/test_greet.py::test_shout"


def test_errors_in_json(e2e: E2e, shared: None) -> None:
    """A program is told the same as a person.

    Tutorial block:
        # errors are JSON too, with what to do about them
        supervisorctl status no-such-batch --json | jq -r .error.hint
    """
    hint = e2e.run("supervisorctl status no-such-batch --json | jq -r .error.hint", comment="what to do about it")
    expect(hint).stdout.to_equal("`supervisorctl status` lists them\n")
    refused = e2e.run("supervisorctl status no-such-batch --json")
    expect(refused).to_have_exit_code(5).stdout.to_match_json("error.code", "no-such-thing")


def test_errors_in_json_without_a_daemon(e2e: E2e, stage: Stage) -> None:
    """Also that nobody answers is JSON.

    Tutorial block:
        # errors are JSON too, with what to do about them
        supervisorctl status no-such-batch --json | jq -r .error.hint
    """
    refused = e2e.run("supervisorctl status no-such-batch --json", comment="nobody answers")
    expect(refused).to_have_exit_code(3).stdout.to_match_json("error", {"code": "unreachable", "hint": ...})
    expect(refused.stderr).to_be_empty()


def test_events_resume(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """From a number on: no gap, no repeat, also over a crash of the daemon.

    Tutorial block:
        # events go on from any number, with no gap and no repeat, whoever was restarted meanwhile
        seq=$(supervisorctl events -n 1 --json | jq .seq)
        supervisorctl submit tests/e2e
        supervisorctl events --after "$seq" --json | jq -r .kind
    """
    resumed = e2e.run(
        """
        seq=$(supervisorctl events -n 1 --json | jq .seq)
        supervisorctl submit tests/e2e
        supervisorctl events --after "$seq" --json | jq -r .kind
        """,
        comment="what is new?",
    )
    expect(resumed).to_succeed().stdout.to_match("^batch-submitted$").not_.to_match("^batch-finished$")
    stage.until_over(resumed.stdout.split()[0])
    e2e.run('kill -9 "$daemon"', comment="a crash")
    daemon.wait()
    stage.start()
    events = e2e.run(
        "supervisorctl events --after 0 --json", comment="all that has ever happened"
    ).stdout.splitlines()
    assert [json.loads(event)["seq"] for event in events] == list(range(1, len(events) + 1))
