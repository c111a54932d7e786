"""Turns the revision of a branch into a call on its device, and the result into an event."""

from collections.abc import Callable

from supervisor.errors import SupervisorError
from supervisor.model import event as ev
from supervisor.model.review import Review
from supervisor.ports.review import Reviser

#: The delay before a retry, which doubles up to the limit: a person may have the branch checked out for days.
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 15.0, 600.0
MOST_DOUBLINGS = 10


class Revising:
    def __init__(self, reviser: Reviser, clock: Callable[[], float]) -> None:
        self._reviser, self._clock = reviser, clock

    async def revise(self, review: Review, number: int) -> ev.Event:
        try:
            revised = await self._reviser.revise(review)
        except (SupervisorError, OSError) as failed:
            return self._failed(review.batch, number, str(failed), _wait(review))
        now = self._clock()
        return ev.RevisionEnded(
            now,
            review.batch,
            number,
            reverted=revised.reverted,
            restored=revised.restored,
            problems=revised.problems,
            notes=revised.notes,
            out_there=revised.out_there,
            unsaid=revised.unsaid,
            retry_at=now + max(_wait(review), revised.wait_seconds) if revised.unsaid else 0.0,
        )

    def failed(self, batch: str, number: int, why: str) -> ev.Event:
        """The event for a revision that ended in a bug."""
        return self._failed(batch, number, why, LONGEST_RETRY_SECONDS)

    def _failed(self, batch: str, number: int, why: str, wait: float) -> ev.Event:
        now = self._clock()
        return ev.RevisionFailed(now, batch, number, detail=why, retry_at=now + wait)


def _wait(review: Review) -> float:
    return min(RETRY_SECONDS * 2.0 ** min(review.tries, MOST_DOUBLINGS), LONGEST_RETRY_SECONDS)
