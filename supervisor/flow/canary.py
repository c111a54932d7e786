"""Canaries: in a large batch a few jobs go first, and the fleet follows once they have come through."""

from supervisor.model.batch import Batch

#: a batch of at most so many jobs needs no canaries
SMALL_BATCH = 10


def left(batch: Batch) -> int:
    """How many jobs must still come through, published and collected, before the fleet; 0: the fleet may go."""
    wanted = batch.profile.canaries if len(batch.tests) > SMALL_BATCH else 0
    return max(0, wanted - batch.through)


def has_room(batch: Batch) -> bool:
    """Until then, only as many agents run as canaries are missing. The next job replaces a canary that fails."""
    missing = left(batch)
    return not missing or batch.busy < missing


def told(batch: Batch) -> str:
    """Why the fleet waits; "": it does not."""
    if not (missing := left(batch)) or batch.next_waiting is None:
        return ""
    wanted = batch.profile.canaries
    which = "its canary" if wanted == 1 else f"its {wanted} canaries"
    return f"the fleet waits for {which} to come through: {wanted - missing} of {wanted} did"
