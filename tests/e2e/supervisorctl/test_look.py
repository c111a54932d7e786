"""Looking: how a batch goes, how it stands, and what has happened."""

from supervisor.e2e import E2e, expect
from supervisor.e2e.spawned import Spawned
from tests.e2e.supervisorctl.elsewhere import WithBatch
from tests.e2e.supervisorctl.place import PATIENCE_SECONDS
from tests.e2e.supervisorctl.stage import Stage


def test_follow_on_a_terminal(e2e: E2e, stage: Stage, held: str) -> None:
    """A live picture: stages, slots, what happened last; at the end, what came of it.

    Tutorial block:
        # watch it go; on a terminal this is a live picture. Ctrl-C ends the looking, nothing else
        supervisorctl follow
    """
    terminal = e2e.terminal("supervisorctl follow", comment="watch it go")
    terminal.wait_text("stages +3 running", PATIENCE_SECONDS)
    terminal.wait_text(r"slots +local 3/4", PATIENCE_SECONDS)
    terminal.mark("the agents go on")
    stage.release()
    expect(terminal.wait()).to_have_exit_code(1)
    expect(terminal.screen).to_contain(f"batch {held}: finished", "1 improved, 1 clean, 1 failed")


def test_follow_may_be_left(e2e: E2e, at_work: str) -> None:
    """Ctrl-C ends the looking; the agents go on.

    Tutorial block:
        # watch it go; on a terminal this is a live picture. Ctrl-C ends the looking, nothing else
        supervisorctl follow
    """
    terminal = e2e.terminal("supervisorctl follow", comment="watch it go, for a while")
    terminal.wait_text("stages +3 running", PATIENCE_SECONDS)
    terminal.press("Ctrl+C")
    expect(terminal.wait()).to_have_exit_code(130)
    expect(e2e.run('supervisorctl status "$batch"')).stdout.to_contain("3 running")


def test_status_of_a_batch(e2e: E2e, batch: str) -> None:
    """A batch that is over says what came of it.

    Tutorial block:
        # how does the batch stand? its id may be shortened, as long as it is clear which one is meant
        supervisorctl status "${batch:0:4}"
    """
    status = e2e.run('supervisorctl status "${batch:0:4}"', comment="how does the batch stand?")
    expect(status).to_succeed().stdout.to_have_lines(f"batch {batch}: finished", "jobs        3: 3 done")
    expect(status.stdout).to_contain("1 improved, 1 clean, 1 failed")


def test_status_of_a_batch_that_is_not_there(e2e: E2e, shared: None) -> None:
    """It is said where to look.

    Tutorial block:
        # how does the batch stand? its id may be shortened, as long as it is clear which one is meant
        supervisorctl status "${batch:0:4}"
    """
    missing = e2e.run("supervisorctl status nope", comment="an id that is none")
    expect(missing).to_have_exit_code(5).stderr.to_have_lines("error: there is no batch nope")
    expect(missing.stderr).to_have_lines("hint: `supervisorctl status` lists them")


def test_jobs(e2e: E2e, batch: str) -> None:
    """Each job with its outcome and its test.

    Tutorial block:
        # its jobs, one line each; without an id, of the batch that was submitted last
        supervisorctl jobs
    """
    jobs = e2e.run("supervisorctl jobs", comment="its jobs")
    expect(jobs).to_succeed().stdout.to_have_line_count(4)
    for number, name, outcome in ((1, "hello", "improved"), (2, "goodbye", "clean"), (3, "shout", "failed")):
        line = rf"^{batch}\.{number} +done +{outcome} +1 +local +tests/e2e/test_greet.py::test_{name}$"
        expect(jobs.stdout).to_match(line)


def test_jobs_before_there_is_a_batch(e2e: E2e, daemon: Spawned) -> None:
    """There is no last batch: how to make one is said.

    Tutorial block:
        # its jobs, one line each; without an id, of the batch that was submitted last
        supervisorctl jobs
    """
    nothing = e2e.run("supervisorctl jobs", comment="of which batch?")
    expect(nothing).to_have_exit_code(5).stderr.to_contain(
        "there is no batch yet", "`supervisorctl submit tests/e2e`"
    )


def test_jobs_with_an_outcome(e2e: E2e, batch: str) -> None:
    """The others are left out.

    Tutorial block:
        # only those with an outcome that you care about
        supervisorctl jobs "$batch" --state failed
    """
    failed = e2e.run('supervisorctl jobs "$batch" --state failed', comment="only those that failed")
    expect(failed).to_succeed().stdout.to_have_line_count(2).to_contain("test_shout").not_to_contain("test_hello")


def test_job(e2e: E2e, batch: str) -> None:
    """What it claims, where it ran, when; and its events.

    Tutorial block:
        # all about one job, and what has happened to it
        supervisorctl job "$batch.1"
    """
    job = e2e.run('supervisorctl job "$batch.1"', comment="all about one job")
    expect(job).to_succeed().stdout.to_match("^outcome +improved$").to_match("^attempts +1$")
    expect(job.stdout).to_contain("launch-started", "work-published", "job-ended")


def test_job_beyond_the_last(e2e: E2e, batch: str) -> None:
    """The hint says which jobs there are.

    Tutorial block:
        # all about one job, and what has happened to it
        supervisorctl job "$batch.1"
    """
    missing = e2e.run('supervisorctl job "$batch.4"', comment="one too many")
    expect(missing).to_have_exit_code(5).stderr.to_contain(f"its jobs are {batch}.1 to {batch}.3")


def test_events(e2e: E2e, batch: str) -> None:
    """The last ones, in order.

    Tutorial block:
        # what has happened lately, to whatever
        supervisorctl events -n 5
    """
    events = e2e.run("supervisorctl events -n 5", comment="what has happened lately?")
    expect(events).to_succeed().stdout.to_have_line_count(5)
    numbers = [int(line.split()[0]) for line in events.stdout.splitlines()]
    assert numbers == list(range(numbers[0], numbers[0] + 5))


def test_events_as_they_happen(e2e: E2e, stage: Stage, held: str) -> None:
    """What has happened comes first, then what happens.

    Tutorial block:
        # all that has happened to one batch, and what will
        supervisorctl events "$batch" --follow
    """
    with e2e.spawn('supervisorctl events "$batch" --follow', comment="and what will happen") as events:
        events.wait_for(rf"{held} +batch-submitted", PATIENCE_SECONDS)
        assert "work-published" not in events.output
        stage.release()
        events.wait_for(rf"{held}\.1 +work-published", PATIENCE_SECONDS)
        events.wait_for(rf"{held} +batch-finished", PATIENCE_SECONDS)


def test_what_an_agent_did(e2e: E2e, stage: Stage, finished_place: WithBatch, batch: str) -> None:
    """Its commits are under a ref of the job and the attempt, and the checkout was only read.

    Tutorial block:
        # the commits of an agent are there before anything is merged, under a ref of the daemon's own
        repository=$(echo ~/.local/state/agent-supervisor/repos/greet-*.git)
        git --git-dir "$repository" log --oneline "refs/supervisor/$batch/1/1"
    """
    (e2e.home / ".local/state/agent-supervisor/repos").symlink_to(finished_place.state / "repos")
    commits = e2e.run(
        """
        repository=$(echo ~/.local/state/agent-supervisor/repos/greet-*.git)
        git --git-dir "$repository" log --oneline "refs/supervisor/$batch/1/1"
        """,
        comment="what did the first agent do?",
    )
    expect(commits).to_succeed().stdout.to_have_line_count(2).to_contain("[IMPROVE_TEST] Greet politely")
    status = e2e.run("git status --porcelain && git log --oneline", comment="the checkout", cwd=finished_place.repo)
    expect(status).stdout.to_have_line_count(1)


def test_logs_of_a_job_that_is_not_there(e2e: E2e, batch: str) -> None:
    """The jobs that there are stand in the hint.

    Tutorial block:
        # what an agent said and did; --follow goes on as long as it works
        supervisorctl logs "$batch.1"
    """
    missing = e2e.run('supervisorctl logs "$batch.7"', comment="one that is not there")
    expect(missing).to_have_exit_code(5).stderr.to_contain(f"its jobs are {batch}.1 to {batch}.3")
