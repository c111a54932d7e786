"""From a drained batch to a branch in a person's repository, in steps that can each be taken again."""

from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.integrating.gathering import gather
from supervisor.adapters.layout import Layout
from supervisor.errors import GitFailed, Refused
from supervisor.flow.batches import unmerged
from supervisor.model.batch import Batch
from supervisor.ports import Integration


class BranchIntegrator:
    def __init__(self, store: GitStore, layout: Layout) -> None:
        self._store, self._layout = store, layout

    async def integrate(self, batch: Batch, number: int) -> Integration:
        works = await gather(self._store, self._layout, batch)
        done = await self._store.integrate(Path(batch.repo), batch.base, batch.id, number, works)
        return await self._landed(batch, number, Integration({**unmerged(batch), **done.jobs}, head=done.head))

    async def _landed(self, batch: Batch, number: int, made: Integration) -> Integration:
        """A repository that can't be written is a person's to mend: the branch is kept in ours all the same."""
        if made.head == batch.base:
            return Integration(made.ledger, problems=made.problems)
        try:
            branch = await self._store.land_once(Path(batch.repo), made.head, batch.id, number)
        except (GitFailed, Refused) as failed:
            problem = f"the branch could not be made in {batch.repo}: {failed.message}"
            return Integration(made.ledger, "", made.head, (*made.problems, problem))
        return Integration(made.ledger, branch, made.head, made.problems)
