"""Submitting: which tests, from which checkout, in which order."""

from supervisor.e2e import CommandResult, E2e, expect
from supervisor.e2e.spawned import Spawned
from tests.e2e.supervisorctl.stage import Stage

TESTS = [f"tests/e2e/test_greet.py::test_{name}" for name in ("hello", "goodbye", "shout")]


def collected(stage: Stage, submitted: CommandResult) -> list[str]:
    """The tests of the batch that was printed."""
    expect(submitted).to_succeed().stdout.to_match(r"\A[a-z0-9]{5}\n\Z")
    return [row["test"] for row in stage.get(f"/v1/batches/{submitted.stdout.strip()}/jobs")["rows"]]


def test_dry_run(e2e: E2e, shared: None) -> None:
    """The tests are listed, and nothing is submitted.

    Tutorial block:
        # what would be submitted? pytest collects, in your repository's own environment
        supervisorctl submit tests/e2e --dry-run
    """
    listed = e2e.run("supervisorctl submit tests/e2e --dry-run", comment="what would be submitted?")
    expect(listed).to_succeed().stdout.to_have_lines(*TESTS).to_match(
        "^3 jobs would be submitted, from [0-9a-f]{12}$"
    )
    expect(e2e.run("supervisorctl status")).stdout.to_contain("no batch is open")


def test_dry_run_of_tests_that_can_not_be_collected(e2e: E2e, shared: None) -> None:
    """pytest's own words are shown.

    Tutorial block:
        # what would be submitted? pytest collects, in your repository's own environment
        supervisorctl submit tests/e2e --dry-run
    """
    e2e.run("echo 'import nothing_like_it' > tests/e2e/test_broken.py && git add . && git commit -qm Broken")
    refused = e2e.run("supervisorctl submit tests/e2e --dry-run")
    expect(refused).to_have_exit_code(4).stderr.to_contain("No module named 'nothing_like_it'")
    expect(refused.stderr).to_have_lines("error: pytest failed to collect tests (exit 2)")


def test_submit(e2e: E2e, stage: Stage, idle: None) -> None:
    """A job for each test; the id of the batch alone is on standard output.

    Tutorial block:
        # an agent on every test: prints the batch
        supervisorctl submit tests/e2e
    """
    submitted = e2e.run("supervisorctl submit tests/e2e", comment="an agent on every test")
    assert collected(stage, submitted) == TESTS
    expect(submitted.stderr).to_contain("3 jobs; `supervisorctl follow ")


def test_submit_without_git(e2e: E2e, shared: None) -> None:
    """Agents start from a commit, so there must be one.

    Tutorial block:
        # an agent on every test: prints the batch
        supervisorctl submit tests/e2e
    """
    e2e.run("rm -rf .git", comment="a folder, not a checkout")
    refused = e2e.run("supervisorctl submit tests/e2e")
    expect(refused).to_have_exit_code(4).stderr.to_contain("is not a git repository")


def test_one_test(e2e: E2e, stage: Stage, idle: None) -> None:
    """A node id is a batch of one job.

    Tutorial block:
        # on one test only
        supervisorctl submit tests/e2e/test_greet.py::test_hello
    """
    submitted = e2e.run("supervisorctl submit tests/e2e/test_greet.py::test_hello", comment="one test only")
    assert collected(stage, submitted) == TESTS[:1]


def test_one_test_that_is_not_there(e2e: E2e, shared: None) -> None:
    """A path that is wrong is told from a repository without tests.

    Tutorial block:
        # on one test only
        supervisorctl submit tests/e2e/test_greet.py::test_hello
    """
    missing = e2e.run("supervisorctl submit tests/e2e/test_great.py::test_hello", comment="a slip")
    expect(missing).to_have_exit_code(5).stderr.to_contain("tests/e2e/test_great.py does not exist")


def test_arguments_for_pytest(e2e: E2e, stage: Stage, idle: None) -> None:
    """They select, and agents run their tests with them too.

    Tutorial block:
        # what stands after -- is for pytest
        supervisorctl submit tests/e2e -- -k "hello or goodbye"
    """
    submitted = e2e.run('supervisorctl submit tests/e2e -- -k "hello or goodbye"', comment="those that are polite")
    assert collected(stage, submitted) == TESTS[:2]


def test_arguments_that_select_nothing(e2e: E2e, shared: None) -> None:
    """An empty batch is a mistake.

    Tutorial block:
        # what stands after -- is for pytest
        supervisorctl submit tests/e2e -- -k "hello or goodbye"
    """
    refused = e2e.run('supervisorctl submit tests/e2e -- -k "hallo"', comment="none is called so")
    expect(refused).to_have_exit_code(4).stderr.to_contain("pytest collected no tests")


def test_from_elsewhere(e2e: E2e, stage: Stage, idle: None) -> None:
    """Without paths, all that pytest collects there.

    Tutorial block:
        # from elsewhere, name the checkout
        cd /
        supervisorctl submit --repo ~/greet
    """
    submitted = e2e.run("cd /\nsupervisorctl submit --repo ~/greet", comment="from elsewhere")
    assert collected(stage, submitted) == TESTS


def test_from_elsewhere_without_a_name(e2e: E2e, shared: None) -> None:
    """Where one is counts, unless a checkout is named.

    Tutorial block:
        # from elsewhere, name the checkout
        cd /
        supervisorctl submit --repo ~/greet
    """
    expect(e2e.run("cd ~\nsupervisorctl submit")).to_have_exit_code(4).stderr.to_contain("is not a git repository")


def test_priority(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """What was submitted later goes first.

    Tutorial block:
        # before all that waits already
        supervisorctl submit tests/e2e --priority 10
    """
    e2e.run("supervisorctl slots 0", comment="so that both have to wait")
    e2e.run("supervisorctl submit tests/e2e -- -k hello", comment="the usual")
    urgent = e2e.run(
        "supervisorctl submit tests/e2e --priority 10 -- -k goodbye", comment="and this first"
    ).stdout.strip()
    e2e.run("supervisorctl slots 1", comment="now one after the other")
    stage.until_over(urgent)
    events = stage.get("/v1/events")["rows"]
    assert next(event["batch"] for event in events if event["kind"] == "launch-started") == urgent


def test_uncommitted_work_is_left_out(e2e: E2e, stage: Stage, idle: None) -> None:
    """It is said which commit the agents start from, and that is the last one.

    Tutorial block:
        # agents start from the last commit: uncommitted work is refused, unless you say to leave it out
        echo "to do" > notes.txt
        supervisorctl submit tests/e2e --allow-dirty
        rm notes.txt
    """
    e2e.run('echo "to do" > notes.txt')
    submitted = e2e.run("supervisorctl submit tests/e2e --allow-dirty", comment="without the notes")
    assert collected(stage, submitted) == TESTS
    base = stage.get(f"/v1/batches/{submitted.stdout.strip()}")["batch"]["base"]
    expect(e2e.run("git rev-parse HEAD", comment="they start from here")).stdout.to_equal(f"{base}\n")


def test_uncommitted_work_is_refused(e2e: E2e, shared: None) -> None:
    """The file is named, and what can be done.

    Tutorial block:
        # agents start from the last commit: uncommitted work is refused, unless you say to leave it out
        echo "to do" > notes.txt
        supervisorctl submit tests/e2e --allow-dirty
        rm notes.txt
    """
    e2e.run('echo "to do" > notes.txt')
    refused = e2e.run("supervisorctl submit tests/e2e", comment="with the notes?")
    expect(refused).to_have_exit_code(4).stderr.to_match("^error: .* has uncommitted work: notes.txt$")
    expect(refused.stderr).to_match("^hint: commit or stash it, or use --allow-dirty")


def test_submit_and_wait(e2e: E2e, daemon: Spawned) -> None:
    """It ends with what came of the batch; a job that failed makes it exit with 1.

    Tutorial block:
        # submit, and come back when all is over
        supervisorctl submit tests/e2e --wait
    """
    fine = e2e.run("supervisorctl submit tests/e2e --wait -- -k hello", comment="the one that goes well")
    expect(fine).to_succeed().stdout.to_contain(": finished", "1 improved")
    mixed = e2e.run("supervisorctl submit tests/e2e --wait", comment="all of them")
    expect(mixed).to_have_exit_code(1).stdout.to_contain("1 improved, 1 clean, 1 failed")
