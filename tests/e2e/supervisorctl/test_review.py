"""Reviewing: the report, and the branch."""

from supervisor.e2e import E2e, expect
from tests.e2e.supervisorctl.elsewhere import WithBatch


def test_report(e2e: E2e, batch: str) -> None:
    """Each job under its outcome, and commands that can be typed as they are.

    Tutorial block:
        # what came of it, what did it take, and what is to be done next?
        supervisorctl report "$batch"
    """
    report = e2e.run('supervisorctl report "$batch"', comment="what came of it?")
    expect(report).to_succeed().stdout.to_have_lines(
        "NEXT", "FAILED BY CAUSE", "IMPROVED (1)", "FAILED (1)", "REVIEW"
    )
    expect(report.stdout).to_contain(f"`supervisorctl retry {batch}.3`")


def test_report_of_a_batch_that_runs(e2e: E2e, at_work: str) -> None:
    """It need not be over.

    Tutorial block:
        # what came of it, what did it take, and what is to be done next?
        supervisorctl report "$batch"
    """
    report = e2e.run('supervisorctl report "$batch"', comment="until now")
    expect(report).to_succeed().stdout.to_match(f"^batch {at_work}: running")


def test_report_as_a_page(e2e: E2e, batch: str) -> None:
    """A file that needs nothing else; its name is printed.

    Tutorial block:
        # the same as a page, to send around
        supervisorctl report "$batch" --html night.html
    """
    expect(e2e.run('supervisorctl report "$batch" --html night.html')).to_succeed().stdout.to_equal("night.html\n")
    expect(e2e.cwd / "night.html").to_contain("<html", batch, "test_shout").not_to_match('src="https?:')


def test_report_where_nothing_can_be_written(e2e: E2e, batch: str) -> None:
    """The sentence says so, and the report is not lost: it can be had again.

    Tutorial block:
        # the same as a page, to send around
        supervisorctl report "$batch" --html night.html
    """
    refused = e2e.run('supervisorctl report "$batch" --html nowhere/night.html', comment="a folder that is not there")
    expect(refused).to_fail().stderr.to_match("^error: ").to_match("^hint: ")


def test_the_branch(e2e: E2e, finished_place: WithBatch, batch: str) -> None:
    """It has what the agents did that held; the checkout is where it was.

    Tutorial block:
        # all that held is on one branch in your repository: look at it, and merge it as you merge everything
        branch=$(supervisorctl status "$batch" --json | jq -r .batch.branch)
        git diff "main...$branch"
    """
    e2e.cwd = finished_place.repo
    diff = e2e.run(
        """
        branch=$(supervisorctl status "$batch" --json | jq -r .batch.branch)
        git diff "main...$branch"
        """,
        comment="what did the night bring?",
    )
    expect(diff).to_succeed().stdout.to_match(r"^\+# politely$")
    expect(e2e.run("git status --short --branch")).stdout.to_equal("## main\n")
