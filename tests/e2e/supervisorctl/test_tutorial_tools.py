"""The tutorial's own tools, on the tutorial and the tests of the checkout. No daemon is there."""

import pytest

from supervisor.e2e import E2e, expect
from tests.e2e.supervisorctl.stage import Stage


@pytest.fixture(autouse=True)
def with_the_plugin(e2e: E2e, stage: Stage) -> None:
    """As it is where nothing else is installed beside it."""
    e2e.env["PYTEST_PLUGINS"] = "supervisor.e2e.plugin"


def test_blocks(e2e: E2e) -> None:
    """Each with its section, its lines and its id.

    Tutorial block:
        # a tutorial like this one is made of blocks; list yours. This and what follows needs no daemon
        supervisorctl tutorial blocks tutorial.sh
    """
    blocks = e2e.run("supervisorctl tutorial blocks tutorial.sh", comment="list them")
    expect(blocks).to_succeed().stdout.to_have_lines("GREETING").to_match(
        r"^ +5-6 +greet-hello-[0-9a-f]{8} +greet hello$"
    )
    expect(blocks.stdout).to_contain("2 blocks, 1 seeds")


def test_blocks_that_can_not_be_read(e2e: E2e) -> None:
    """A quote that is never closed is reported with its line.

    Tutorial block:
        # a tutorial like this one is made of blocks; list yours. This and what follows needs no daemon
        supervisorctl tutorial blocks tutorial.sh
    """
    e2e.run('echo "greet \'hello" >> tutorial.sh', comment="a quote is missing")
    blocks = e2e.run("supervisorctl tutorial blocks tutorial.sh")
    expect(blocks).to_have_exit_code(2).stdout.to_match("^ +12 +problem: ' is never closed$")


def test_seeds(e2e: E2e) -> None:
    """A comment without a command is what is still to be shown.

    Tutorial block:
        # what has still to be written? a comment without a command
        supervisorctl tutorial blocks tutorial.sh --json | jq '.seeds'
    """
    seeds = e2e.run("supervisorctl tutorial blocks tutorial.sh --json | jq '.seeds'", comment="still to be written")
    expect(seeds).to_succeed().stdout.to_contain("Shouting")


def test_check(e2e: E2e) -> None:
    """All is cited both ways.

    Tutorial block:
        # is every block cited by a test, and the other way round?
        supervisorctl tutorial check tutorial.sh --tests tests/e2e
    """
    checked = e2e.run("supervisorctl tutorial check tutorial.sh --tests tests/e2e", comment="both ways?")
    expect(checked).to_succeed().stdout.to_contain("2 blocks")


def test_check_finds_gaps(e2e: E2e) -> None:
    """A block without a test, and a test without a block.

    Tutorial block:
        # is every block cited by a test, and the other way round?
        supervisorctl tutorial check tutorial.sh --tests tests/e2e
    """
    e2e.run("printf '\\n# loudly\\ngreet HELLO\\n' >> tutorial.sh", comment="one more block")
    e2e.run("printf 'def test_nothing():\\n    pass\\n' > tests/e2e/test_more.py", comment="and one more test")
    checked = e2e.run("supervisorctl tutorial check tutorial.sh --tests tests/e2e", comment="both ways?")
    expect(checked).to_have_exit_code(1).stdout.to_contain("greet HELLO", "test_nothing")


def test_fidelity(e2e: E2e) -> None:
    """Each block has its tests, and how closely they do what it says.

    Tutorial block:
        # which tests prove a block, and how closely?
        supervisorctl tutorial check tutorial.sh --tests tests/e2e --json | jq '.by_block'
    """
    blocks = e2e.run(
        "supervisorctl tutorial check tutorial.sh --tests tests/e2e --json | jq '.by_block'", comment="how closely?"
    )
    expect(blocks).to_succeed().stdout.to_match_json("[0].tests[0]", {"label": "happy", "form": "docstring"})
    expect(blocks).stdout.json("[0].tests").to_have_length(2)


def test_fix(e2e: E2e) -> None:
    """Citations of a block that was edited follow it; the change is shown.

    Tutorial block:
        # the tutorial was edited: let its citations follow
        sed -i 's/greet hello/greet hello --name World/' tutorial.sh
        supervisorctl tutorial check tutorial.sh --tests tests/e2e --fix
    """
    e2e.run("sed -i 's/greet hello/greet hello --name World/' tutorial.sh", comment="the tutorial was edited")
    expect(e2e.run("supervisorctl tutorial check tutorial.sh --tests tests/e2e")).to_have_exit_code(1)
    fixed = e2e.run("supervisorctl tutorial check tutorial.sh --tests tests/e2e --fix", comment="let them follow")
    expect(fixed).to_succeed().stderr.to_match(r"^\+ +greet hello --name World$")
    expect(e2e.run("git diff --stat")).stdout.to_contain("tests/e2e/test_greet.py | 4 ++--")


def test_baseline(e2e: E2e) -> None:
    """Gaps of now are allowed, new ones are not.

    Tutorial block:
        # begin with the gaps that there are, and let them only shrink
        supervisorctl tutorial check tutorial.sh --tests tests/e2e --baseline gaps.json --update-baseline
    """
    check = "supervisorctl tutorial check tutorial.sh --tests tests/e2e --baseline gaps.json --update-baseline"
    e2e.run("printf '\\n# loudly\\ngreet HELLO\\n' >> tutorial.sh", comment="a gap")
    expect(e2e.run(check, comment="begin with the gaps")).to_succeed()
    e2e.run("printf '\\n# softly\\ngreet psst\\n' >> tutorial.sh", comment="a new gap")
    expect(e2e.run(check)).to_have_exit_code(1).stderr.to_contain("a baseline only shrinks")


def test_where_the_build_shows_it(e2e: E2e) -> None:
    """A JUnit file, and annotations at the lines that have a gap.

    Tutorial block:
        # where the build shows it
        supervisorctl tutorial check tutorial.sh --tests tests/e2e --junit tutorial.xml --annotations github
    """
    e2e.run("printf '\\n# loudly\\ngreet HELLO\\n' >> tutorial.sh", comment="a gap")
    checked = e2e.run(
        "supervisorctl tutorial check tutorial.sh --tests tests/e2e --junit tutorial.xml --annotations github"
    )
    expect(checked).to_have_exit_code(1).stdout.to_match("^::error file=tutorial.sh,line=1")
    expect(e2e.cwd / "tutorial.xml").to_match("<testsuites?").to_contain("<failure")


def test_results(e2e: E2e) -> None:
    """A folder for each test, with its transcript and its recordings.

    Tutorial block:
        # run the tests, and keep what they did and saw
        pytest tests/e2e --e2e-dir results
    """
    expect(e2e.run("pytest tests/e2e --e2e-dir results", comment="run the tests")).to_succeed()
    [transcript] = e2e.cwd.glob("results/*test_hello*/attempt-1/transcript.txt")
    expect(transcript).to_have_lines("# say hello", "$ bin/greet hello", "  hello, you")
    assert len(list(e2e.cwd.glob("results/*test_goodbye*/attempt-1/*.cast"))) == 1


def test_results_of_a_test_that_fails(e2e: E2e) -> None:
    """Its transcript is shown with the failure.

    Tutorial block:
        # run the tests, and keep what they did and saw
        pytest tests/e2e --e2e-dir results
    """
    e2e.run("sed -i 's/hello, you/hello, World/' tests/e2e/test_greet.py", comment="which is not so")
    failed = e2e.run("pytest tests/e2e --e2e-dir results", comment="run the tests")
    expect(failed).to_have_exit_code(1).stdout.to_contain("e2e transcript", "$ bin/greet hello")


def test_view(e2e: E2e) -> None:
    """One page that needs nothing else.

    Tutorial block:
        # look at it: one page, with each block, its tests, their transcripts and recordings
        supervisorctl tutorial view results --tutorial tutorial.sh -o results.html
    """
    e2e.run("pytest tests/e2e --e2e-dir results", comment="a run to look at")
    view = e2e.run("supervisorctl tutorial view results --tutorial tutorial.sh -o results.html", comment="one page")
    expect(view).to_succeed().stdout.to_contain("results.html")
    expect(e2e.cwd / "results.html").to_contain("test_hello", "say hello").not_to_match('src="https?:')


def test_view_of_nothing(e2e: E2e) -> None:
    """A folder that is not there is wrong usage.

    Tutorial block:
        # look at it: one page, with each block, its tests, their transcripts and recordings
        supervisorctl tutorial view results --tutorial tutorial.sh -o results.html
    """
    view = e2e.run("supervisorctl tutorial view results --tutorial tutorial.sh -o results.html", comment="too early")
    expect(view).to_have_exit_code(2).stderr.to_contain("results")


def test_news(e2e: E2e) -> None:
    """Of two runs, the page has both.

    Tutorial block:
        # what is new since the last run?
        pytest tests/e2e --e2e-dir results.new
        supervisorctl tutorial view results.new --compare results --tutorial tutorial.sh -o news.html
    """
    e2e.run("pytest tests/e2e --e2e-dir results", comment="the last run")
    e2e.run("sed -i 's/hello, you/hello, World/' tests/e2e/test_greet.py", comment="somebody breaks a test")
    expect(e2e.run("pytest tests/e2e --e2e-dir results.new")).to_have_exit_code(1)
    view = e2e.run(
        "supervisorctl tutorial view results.new --compare results --tutorial tutorial.sh -o news.html",
        comment="what is new?",
    )
    expect(view).to_succeed()
    expect(e2e.cwd / "news.html").to_contain("test_hello")
