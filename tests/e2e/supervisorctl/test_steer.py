"""Steering: pause, slots, cancel, retry."""

from supervisor.e2e import E2e, expect
from supervisor.e2e.spawned import Spawned
from tests.e2e.supervisorctl.place import PATIENCE_SECONDS
from tests.e2e.supervisorctl.stage import Stage


def test_pause(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """Nothing is launched, and whoever looks is told why.

    Tutorial block:
        # launch nothing more for now; agents at work go on
        supervisorctl pause --reason "the disk is full"
    """
    paused = e2e.run('supervisorctl pause --reason "the disk is full"', comment="for now")
    expect(paused).to_succeed().stdout.to_contain("paused: no agents are launched")
    batch = stage.submit("--", "-k", "hello")
    status = e2e.run("supervisorctl status")
    expect(status).stdout.to_contain("paused (the disk is full): no agents are launched; `supervisorctl resume`")
    assert stage.jobs(batch)["queued"] == 1
    again = e2e.run("supervisorctl pause", comment="said twice")
    expect(again).to_succeed().stdout.to_contain("already paused")


def test_a_pause_leaves_agents_alone(e2e: E2e, stage: Stage, held: str) -> None:
    """What runs when it is paused comes to its end.

    Tutorial block:
        # launch nothing more for now; agents at work go on
        supervisorctl pause --reason "the disk is full"
    """
    e2e.run('supervisorctl pause --reason "the disk is full"', comment="with three agents at work")
    stage.release()
    waited = e2e.run('supervisorctl wait "$batch"', timeout=PATIENCE_SECONDS)
    expect(waited).stdout.to_contain("1 improved, 1 clean, 1 failed")


def test_resume(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """What waited is launched; to resume what goes on is no mistake.

    Tutorial block:
        # and on
        supervisorctl resume
    """
    e2e.run("supervisorctl pause", comment="for now")
    batch = stage.submit("--", "-k", "hello")
    expect(e2e.run("supervisorctl resume", comment="and on")).to_succeed().stdout.to_contain("resumed")
    stage.until_over(batch)
    expect(e2e.run("supervisorctl resume --json")).to_succeed().stdout.to_match_json("changed", False)


def test_pause_of_one_batch(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """The others go on.

    Tutorial block:
        # the same for one batch
        supervisorctl pause "$batch"
        supervisorctl resume "$batch"
    """
    e2e.run("supervisorctl slots 0", comment="nobody begins yet")
    batch = stage.submit("--", "-k", "hello")
    expect(e2e.run('supervisorctl pause "$batch"')).to_succeed()
    e2e.run("supervisorctl slots 4", comment="all but that one may begin")
    other = e2e.run("supervisorctl submit tests/e2e -- -k goodbye", comment="another batch").stdout.strip()
    stage.until_over(other)
    assert stage.jobs(batch)["queued"] == 1
    expect(e2e.run("supervisorctl status")).stdout.to_match(f"^{batch} +paused +1 +1 ")
    expect(e2e.run('supervisorctl resume "$batch"')).to_succeed()
    stage.until_over(batch)


def test_fewer_slots(e2e: E2e, stage: Stage, held: str) -> None:
    """Agents beyond the slots may finish; nobody takes their place.

    Tutorial block:
        # fewer agents, or more; when there is one pool only, its name goes without saying
        supervisorctl slots local 1
    """
    expect(e2e.run("supervisorctl slots local 1")).to_succeed().stdout.to_contain("local has 1 slots")
    expect(e2e.run("supervisorctl status")).stdout.to_match(r"^local +local +3/1 ")
    expect(e2e.run("supervisorctl slots 1", comment="there is one pool only")).stdout.to_contain("as before")


def test_slots_of_a_pool_that_is_not_there(e2e: E2e, shared: None) -> None:
    """The pools that there are stand in the hint.

    Tutorial block:
        # fewer agents, or more; when there is one pool only, its name goes without saying
        supervisorctl slots local 1
    """
    missing = e2e.run("supervisorctl slots lokal 1", comment="a slip")
    expect(missing).to_have_exit_code(5).stderr.to_have_lines(
        "error: there is no pool lokal", "hint: the pools are: local"
    )


def test_cancel_a_job(e2e: E2e, stage: Stage, held: str) -> None:
    """Its agent is put away, the others go on.

    Tutorial block:
        # cancel a job: what its agent has done so far is rescued
        supervisorctl cancel "$batch.2"
    """
    expect(e2e.run('supervisorctl cancel "$batch.2"')).to_succeed().stdout.to_contain(f"{held}.2 is cancelled")
    stage.release()
    stage.until_over(held)
    assert stage.outcomes(held) == ["improved", "cancelled", "failed"]


def test_cancel_a_job_that_is_not_there(e2e: E2e, at_work: str) -> None:
    """Nothing is cancelled by a slip.

    Tutorial block:
        # cancel a job: what its agent has done so far is rescued
        supervisorctl cancel "$batch.2"
    """
    expect(e2e.run('supervisorctl cancel "$batch.22"')).to_have_exit_code(5).stderr.to_contain("has no job 22")
    expect(e2e.run('supervisorctl status "$batch"')).stdout.to_contain("3 running")


def test_cancel_a_batch(e2e: E2e, stage: Stage, held: str) -> None:
    """All of it ends, and no agent is left; said twice, it is so already.

    Tutorial block:
        # or a whole batch
        supervisorctl cancel "$batch"
    """
    expect(e2e.run('supervisorctl cancel "$batch"', comment="all of it")).to_succeed()
    stage.until_over(held)
    expect(e2e.run('supervisorctl status "$batch"')).stdout.to_contain(": cancelled", "3 cancelled")
    again = e2e.run('supervisorctl cancel "$batch"', comment="said twice")
    expect(again).to_succeed().stdout.to_contain("was cancelled already")
    assert stage.get("/v1/status")["pools"][0]["busy"] == 0


def failed_early(stage: Stage) -> str:
    """A batch of which test_shout has failed, and two others are still at work."""
    stage.hold("test_hello", "test_goodbye")
    batch = stage.submit()
    stage.until("test_shout has failed", lambda: stage.outcomes(batch)[2] == "failed")
    return batch


def test_retry_a_job(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """Another agent takes it on.

    Tutorial block:
        # let a job go again
        supervisorctl retry "$batch.3"
    """
    batch = failed_early(stage)
    expect(e2e.run('supervisorctl retry "$batch.3"')).to_succeed().stdout.to_contain(f"retrying {batch}.3")
    stage.until("it has failed again", lambda: stage.job(batch, 3)["attempts"] == 2 and stage.outcomes(batch)[2])
    expect(e2e.run('supervisorctl retry "$batch.1"', comment="an agent is on it")).stdout.to_contain(
        "no job to retry"
    )


def test_retry_what_did_not_end_well(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """Those that ended well, or have not ended, are let be.

    Tutorial block:
        # or all those of a batch that did not end well, while others of it are still at work
        supervisorctl retry "$batch"
    """
    batch = failed_early(stage)
    expect(e2e.run('supervisorctl retry "$batch"')).to_succeed().stdout.to_contain(f"retrying {batch}")
    stage.release()
    stage.until_over(batch)
    assert [stage.job(batch, number)["attempts"] for number in (1, 2, 3)] == [1, 1, 2]


def test_integrate_what_is_done_so_far(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """It has a branch of its own, and the straggler goes on.

    Tutorial block:
        # a straggler need not hold up the others: a branch of what is done so far, while it goes on
        supervisorctl integrate "$batch"
    """
    stage.hold("test_goodbye", "test_shout")
    batch = stage.submit()
    stage.until("test_hello is improved", lambda: stage.outcomes(batch)[0] == "improved")
    asked = e2e.run('supervisorctl integrate "$batch"', comment="two are still at work")
    expect(asked).to_succeed().stdout.to_contain(f"integrating the work of {batch} so far")
    stage.until("its branch is there", lambda: stage.get(f"/v1/batches/{batch}")["batch"]["so_far"])
    expect(e2e.run('supervisorctl status "$batch"')).stdout.to_contain(
        f"so far      supervisor/{batch}, 1 of 3 jobs", "2 running"
    )
    expect(e2e.run("git branch --list 'supervisor/*'")).stdout.to_contain(f"supervisor/{batch}")
    stage.release()
    stage.until_over(batch)
    expect(e2e.run('supervisorctl status "$batch"')).stdout.to_contain(f"branch      supervisor/{batch}")


def test_integrate_when_nothing_is_done(e2e: E2e, at_work: str) -> None:
    """There is nothing to make a branch of, and the hint says where to look.

    Tutorial block:
        # a straggler need not hold up the others: a branch of what is done so far, while it goes on
        supervisorctl integrate "$batch"
    """
    refused = e2e.run('supervisorctl integrate "$batch"', comment="too early")
    expect(refused).to_have_exit_code(4).stderr.to_contain(
        f"batch {at_work} has no finished work yet", f"supervisorctl follow {at_work}"
    )
