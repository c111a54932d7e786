"""A daemon that ends between taking a repository and writing down why leaves nothing for good."""

from pathlib import Path

from supervisor.adapters.git.store import GitStore
from tests.daemon.crash import STUB
from tests.daemon.sandbox import box, running
from tests.waiting import until


async def test_a_snapshot_without_its_batch_is_cleared_away_at_the_next_start(tmp_path: Path) -> None:
    """And not that of a batch that waits; one that is over has let go of its own."""
    async with box(tmp_path, jobs=1, settings={"mngr": {"command": str(STUB), "warm": False}}) as made:
        store = GitStore(made.configuration.state_dir)
        async with running(made) as here:
            await here.submit("over")
            await here.finished("over")
            await until("it has let go of its source", lambda: not store.source("over").exists())
        made.slots = 0
        async with running(made) as here:
            await here.submit("waits")
            repo = tmp_path / "repo"
            facts = await here.devices.store.inspect(repo)
            await here.devices.store.snapshot(repo, facts.head_sha, "cut-short")

        async with running(made) as here:
            assert "waits" in here.state.batches
            assert [b for b in ("over", "waits", "cut-short") if store.source(b).is_dir()] == ["waits"]
            assert await store.untouched() == ["waits"]
