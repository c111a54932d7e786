"""An agent whose host has another id than was journalled is neither lost, nor forgotten, nor doubled."""

from pathlib import Path

from supervisor.adapters.git.process import git
from supervisor.adapters.git.store import GitStore
from supervisor.model import event as ev
from supervisor.model.request import Cancel, Retry
from tests.daemon.box import agents_in_mngr
from tests.daemon.sandbox import Running, Sandbox, running
from tests.daemon.test_strays import NEVER_DONE, heads, stage
from tests.waiting import until

PROFILE = {"command": [str(NEVER_DONE)], "env": {"WORK_SECONDS": "0"}}


async def moved(here: Running, made: Sandbox) -> None:
    """Its agents have committed; then the machine has another id, as two first calls of mngr at once bring about."""
    await here.submit()
    await until("all are launched", lambda: len(here.live()) == made.jobs)
    await until("all agents have committed", lambda: len(heads(made)) == made.jobs)
    (made.configuration.mngr_home / ".mngr" / "host_id").write_text("host-" + "f" * 32)


async def test_what_it_has_is_rescued_and_it_is_put_away_before_its_job_goes_again(tmp_path: Path) -> None:
    async with stage(tmp_path, jobs=1, profile=PROFILE) as made, running(made) as here:
        await moved(here, made)
        await here.daemon.loop.inbox.ask(Cancel("batch", job=1, author="ann"))
        await until("the job is over", lambda: here.of(ev.JobEnded, ev.JobCancelled) and here.of(ev.AgentReleased))
        assert [event.commits for event in here.of(ev.WorkRescued)] == [1]
        assert not agents_in_mngr(made.configuration.state_dir), "released, and it lives on"
        bare = GitStore(made.configuration.state_dir).bare(made.folder / "repo")
        assert b"refs/supervisor/batch/1/rescued/1" in await git(bare, "for-each-ref")


async def test_a_retry_at_that_moment_makes_no_second_agent_beside_it(tmp_path: Path) -> None:
    async with stage(tmp_path, jobs=2, profile=PROFILE) as made, running(made) as here:
        await moved(here, made)
        await here.daemon.loop.inbox.ask(Cancel("batch", job=1, author="ann"))
        await until("it can be retried", lambda: here.state.batches["batch"].job(1).state.is_over)
        assert len(agents_in_mngr(made.configuration.state_dir)) == 1
        await here.daemon.loop.inbox.ask(Retry("batch", job=1, author="ann"))
        await until("it runs again", lambda: len(here.of(ev.LaunchSucceeded)) == 3)
        assert len(agents_in_mngr(made.configuration.state_dir)) == 2
        await here.daemon.loop.inbox.ask(Cancel("batch", author="ann"))
        await here.finished()


async def test_the_listing_corrects_what_is_journalled(tmp_path: Path) -> None:
    async with stage(tmp_path, jobs=1, profile=PROFILE) as made, running(made) as here:
        await moved(here, made)
        here.daemon.watch.suspect("local")
        await until("it is written down", lambda: here.of(ev.AgentMoved))
        [attempt] = here.state.attempts.values()
        assert attempt.host_id == "host-" + "f" * 32
        assert here.live(), "it is not taken for gone"
        await here.daemon.loop.inbox.ask(Cancel("batch", author="ann"))
        await here.finished()
