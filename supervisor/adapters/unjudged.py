"""Until claims are verified and work is integrated: claims are taken as made, and work stays in its refs."""

from supervisor.flow.batches import unmerged
from supervisor.model.batch import Batch
from supervisor.model.job import Job
from supervisor.ports import Integration, Verdict


class TakenAtItsWord:
    async def verify(self, batch: Batch, job: Job) -> Verdict:
        return Verdict(outcome=job.claim, detail=job.detail)


class LeftInItsRefs:
    async def integrate(self, batch: Batch, number: int) -> Integration:
        return Integration(ledger=unmerged(batch))
