"""Claims that wait for verification or are being verified, by batch and by the place that verifies them."""

from collections import Counter, defaultdict
from typing import Any

from supervisor.flow.verifying import busy_of, court_of, home_of, slots_of
from supervisor.model.state import State

type View = dict[str, Any]


def verifying(state: State) -> dict[str, View]:
    """By batch: how many of its claims wait for a verify slot, how many are being verified, and how many slots the
    places have that verify them."""
    waiting = Counter(key.batch for key in state.verifying.waiting)
    running = Counter(key.batch for key in state.verifying.group_of)
    places: defaultdict[str, set[str]] = defaultdict(set)
    for key in (*state.verifying.waiting, *state.verifying.group_of):
        places[key.batch].add(court_of(state, key))
    return {
        batch: {
            "waiting": waiting[batch],
            "running": running[batch],
            "slots": sum(slots_of(state, place) for place in places[batch]),
        }
        for batch in waiting.keys() | running.keys()
    }


def verify_slots(state: State, place: str = "") -> View:
    """The verify slots of this machine, or of a remote pool."""
    verifying = state.verifying
    at_home = [batch for batch in state.batches.values() if home_of(state.pools, batch.profile) == place]
    surveyed = [files for batch in at_home for files in batch.survey.under_way.values()]
    return {
        "slots": slots_of(state, place),
        "busy": busy_of(state, place),
        "claims": sum(verifying.groups[first].pool == place for first in verifying.group_of.values()),
        "waiting": sum(court_of(state, key) == place for key in verifying.waiting),
        "at_base": sum(map(len, surveyed)),
    }
