"""How many agents this machine has room for: pools with `slots = "auto"` follow it.

An agent waits for its model most of the time, so cores are no limit: memory, disk and descriptors are. If tasks wait
for memory or for the disk, there are too many agents already.
"""

from dataclasses import replace

from supervisor.model import event as ev
from supervisor.model.pool import Pool
from supervisor.model.pressure import Pressure
from supervisor.model.state import State

#: What one more agent needs, with the tests that it runs.
AGENT_MB, AGENT_DISK_MB, AGENT_FILES = 600, 500, 64
#: What stays free for everything else.
FREE_SHARE, FREE_DISK_MB, FREE_FILES = 0.1, 2000, 512
#: Shares of time in which tasks wait: from the first on no agent is added, from the second on the slots are reduced.
BUSY_SHARE, CROWDED_SHARE = 0.2, 0.5
CROWDED_PART = 0.75
#: the slots before anything is known
UNSEEN_SLOTS = 4


def room(seen: Pressure, busy: int) -> tuple[int, str]:
    """The slots of a machine with so many agents at work, and what limits them."""
    waits = max(seen.memory_share, seen.io_share)
    what = "memory" if seen.memory_share >= seen.io_share else "its disk"
    if waits >= CROWDED_SHARE:
        return max(1, int(busy * CROWDED_PART)), f"tasks wait for {what} {waits:.0%} of the time"
    more = min(
        ((seen.memory_free_mb - round(FREE_SHARE * seen.memory_total_mb)) // AGENT_MB, "memory"),
        ((seen.disk_free_mb - FREE_DISK_MB) // AGENT_DISK_MB, "disk"),
        ((seen.files_free - FREE_FILES) // AGENT_FILES, "descriptors"),
    )
    if waits >= BUSY_SHARE and more[0] > 0:
        return max(1, busy), f"tasks wait for {what} {waits:.0%} of the time"
    return max(1, busy + more[0]), f"there is {more[1]} for so many"


def on_seen(state: State, event: ev.PressureSeen) -> State:
    state = replace(state, pressure=event.pressure)
    for pool in state.pools.values():
        if pool.auto:
            state = state.with_pool(fitted(state, pool))
    return state


def fitted(state: State, pool: Pool) -> Pool:
    """The pool with as many slots as this machine has room for."""
    if state.pressure is None:
        return replace(pool, slots=min(UNSEEN_SLOTS, pool.most))
    slots, _ = room(state.pressure, pool.busy)
    return replace(pool, slots=min(slots, pool.most))
