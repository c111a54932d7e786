"""Until work is integrated: it stays in its refs."""

from supervisor.flow.batches import unmerged
from supervisor.model.batch import Batch
from supervisor.ports import Integration


class LeftInItsRefs:
    async def integrate(self, batch: Batch, number: int) -> Integration:
        return Integration(ledger=unmerged(batch))
