"""Work that is not merged, and batches that are over."""

import pytest

from supervisor.e2e import E2e, expect
from supervisor.e2e.spawned import Spawned
from tests.e2e.supervisorctl.stage import Stage


@pytest.fixture
def cancelled(e2e: E2e, stage: Stage, daemon: Spawned) -> str:
    """test_hello was improved before the batch was cancelled; the two others were at work."""
    stage.hold("test_goodbye", "test_shout")
    batch = stage.submit()
    stage.until("test_hello is improved", lambda: stage.outcomes(batch)[0] == "improved")
    e2e.run('supervisorctl cancel "$batch"', comment="before it is integrated")
    stage.until_over(batch)
    return batch


def test_list_it(e2e: E2e, stage: Stage, cancelled: str) -> None:
    """With the ref that has it, and why it is not merged.

    Tutorial block:
        # no work is lost: what was rescued, rejected or cancelled is listed, of all batches or of one
        supervisorctl work
        supervisorctl work "$batch"
    """
    listed = e2e.run("supervisorctl work", comment="of all batches")
    expect(listed).to_succeed().stdout.to_contain(f"{cancelled}.1", "rescued", f"refs/supervisor/{cancelled}/1/1")
    expect(e2e.run('supervisorctl work "$batch"')).stdout.to_equal(listed.stdout)
    job = e2e.run('supervisorctl job "$batch.1"', comment="the job knows of it, too")
    expect(job).stdout.to_contain(f"refs/supervisor/{cancelled}/1/1, commits: 1")


def test_where_all_is_merged(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """Nothing waits.

    Tutorial block:
        # no work is lost: what was rescued, rejected or cancelled is listed, of all batches or of one
        supervisorctl work
        supervisorctl work "$batch"
    """
    stage.until_over(stage.submit("--", "-k", "hello"))
    nothing = "no unmerged work\n"
    expect(e2e.run("supervisorctl work", comment="of all batches")).to_succeed().stdout.to_equal(nothing)
    expect(e2e.run('supervisorctl work "$batch"')).to_succeed().stdout.to_equal(nothing)


def test_take_it(e2e: E2e, stage: Stage, cancelled: str) -> None:
    """The checkout stays as it is; said twice, it is there already.

    Tutorial block:
        # have it as a branch of your repository; nothing is checked out, and no other branch is overwritten
        supervisorctl work "$batch.1" --take
        git log --oneline "supervisor/work/$batch.1"
    """
    taken = e2e.run('supervisorctl work "$batch.1" --take', comment="home with it")
    expect(taken).to_succeed().stdout.to_contain(f"{cancelled}.1 is now the branch supervisor/work/{cancelled}.1")
    log = e2e.run('git log --oneline "supervisor/work/$batch.1"')
    expect(log).to_succeed().stdout.to_contain("[IMPROVE_TEST] Greet politely")
    expect(e2e.run("git status --short --branch")).stdout.to_equal("## main\n")
    again = e2e.run('supervisorctl work "$batch.1" --take --json', comment="said twice")
    expect(again).to_succeed().stdout.to_match_json("changed", False)


def test_take_what_is_not_there(e2e: E2e, stage: Stage, cancelled: str) -> None:
    """Its agent had not begun: there is nothing to take.

    Tutorial block:
        # have it as a branch of your repository; nothing is checked out, and no other branch is overwritten
        supervisorctl work "$batch.1" --take
        git log --oneline "supervisor/work/$batch.1"
    """
    refused = e2e.run('supervisorctl work "$batch.2" --take', comment="that one did nothing")
    expect(refused).to_have_exit_code(5).stderr.to_contain(
        "there is no unmerged work to take", "`supervisorctl work` lists"
    )
    e2e.run('git branch "supervisor/work/$batch.1"', comment="a branch of that name, with other commits")
    e2e.run('git commit --allow-empty -qm "later"')
    e2e.run('git branch --force "supervisor/work/$batch.1"')
    refused = e2e.run('supervisorctl work "$batch.1" --take', comment="over that?")
    expect(refused).to_have_exit_code(4).stderr.to_contain("already, with other commits", "--branch OTHER")


def test_take_it_under_a_name(e2e: E2e, stage: Stage, cancelled: str) -> None:
    """Any name that git takes.

    Tutorial block:
        # under a name of your own
        supervisorctl work "$batch.1" --take --branch polite
    """
    expect(e2e.run('supervisorctl work "$batch.1" --take --branch polite')).to_succeed()
    expect(e2e.run("git log --oneline polite")).stdout.to_contain("Greet politely")
    refused = e2e.run('supervisorctl work "$batch.1" --take --branch "no name"', comment="a slip")
    expect(refused).to_have_exit_code(4).stderr.to_contain("no name can't be the name of a branch")


def test_whose_work_waits(e2e: E2e, stage: Stage, cancelled: str) -> None:
    """Rows with the job, the ref, the commit and the reason.

    Tutorial block:
        # whose work waits? for a program
        supervisorctl work --json | jq -r '.rows[].job'
    """
    expect(e2e.run("supervisorctl work --json | jq -r '.rows[].job'")).stdout.to_equal(f"{cancelled}.1\n")
    kept = e2e.run("supervisorctl work --json | jq -r '.rows[0].ref'", comment="where is it?")
    expect(kept).stdout.to_equal(f"refs/supervisor/{cancelled}/1/1\n")


@pytest.fixture
def over(stage: Stage, daemon: Spawned) -> str:
    """test_hello was improved and merged, test_shout failed."""
    batch = stage.submit("--", "-k", "hello or shout")
    stage.until_over(batch)
    return batch


def test_retry_what_failed(e2e: E2e, stage: Stage, over: str) -> None:
    """What ended well is let be; the new batch says whose jobs it has.

    Tutorial block:
        # what failed in a batch that is over goes again as a batch of its own, from the same commit
        again=$(supervisorctl retry "$batch")
    """
    again = e2e.run('again=$(supervisorctl retry "$batch") && echo "$again"').stdout.strip()
    stage.until_over(again)
    assert again != over
    assert [row["test"] for row in stage.get(f"/v1/batches/{again}/jobs")["rows"]] == [
        "tests/e2e/test_greet.py::test_shout"
    ]
    batch = stage.get(f"/v1/batches/{again}")["batch"]
    assert (batch["retry_of"], batch["base"]) == (over, stage.get(f"/v1/batches/{over}")["batch"]["base"])


def test_retry_what_went_well(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """There is nothing to do.

    Tutorial block:
        # what failed in a batch that is over goes again as a batch of its own, from the same commit
        again=$(supervisorctl retry "$batch")
    """
    batch = stage.submit("--", "-k", "hello")
    stage.until_over(batch)
    expect(e2e.run('supervisorctl retry "$batch"')).to_succeed().stdout.to_contain("no job to retry")


def test_retry_from_here(e2e: E2e, stage: Stage, over: str) -> None:
    """From the last commit of the repository as it is now.

    Tutorial block:
        # or from where you are now
        supervisorctl retry "$batch" --onto HEAD
    """
    e2e.run('git commit --allow-empty -qm "Mend what the tests need"', comment="meanwhile")
    again = e2e.run('supervisorctl retry "$batch" --onto HEAD').stdout.strip()
    head = e2e.run("git rev-parse HEAD", comment="that one").stdout.strip()
    assert stage.get(f"/v1/batches/{again}")["batch"]["base"] == head
    refused = e2e.run('supervisorctl retry "$batch" --onto nowhere', comment="a slip")
    expect(refused).to_have_exit_code(4).stderr.to_contain("nowhere is not a commit of")
