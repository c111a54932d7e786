"""What writers write is merged by nobody: a person takes it, with `supervisorctl tutorial fill` or `sync`."""

from supervisor.flow.batches import unmerged
from supervisor.model.batch import Batch
from supervisor.ports import Integration, Integrator, Judgement


class TakenByPeople:
    """Of testers, the work is integrated."""

    def __init__(self, integrator: Integrator) -> None:
        self._integrator = integrator

    async def integrate(self, batch: Batch, number: int) -> Integration | Judgement:
        if batch.role == "writer":
            return Integration(unmerged(batch))
        return await self._integrator.integrate(batch, number)
