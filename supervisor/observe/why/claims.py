"""Why a claim is not being verified yet."""

from supervisor.flow.verifying import busy_of, court_of, gathering, slots_of
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.observe.why.answer import Cause, Reason
from supervisor.observe.why.scene import Scene, count


def unverified(scene: Scene, batch: Batch, key: AttemptKey) -> Reason:
    found, place = scene.state.verifying, court_of(scene.state, key)
    slots, busy = slots_of(scene.state, place), busy_of(scene.state, place)
    until = gathering(scene.state).get(batch.id)
    if busy < slots and until is not None and until > scene.now:
        text = "It waits for claims of agents that are at work: a run with several costs little more than with one."
        return Reason(Cause.GATHERING, text, f"It waits for no others after {scene.until(until)}.")
    rivals = [other for other in found.waiting if court_of(scene.state, other) == place]
    before = sum(_goes_first(scene, batch, other, key) for other in rivals)
    alone = found.waiting.get(key) == 1 and batch.profile.verify_group > 1
    again = " Runs with others could not settle it, so it is verified by itself." if alone and busy else ""
    which = "the verify slot" if slots == 1 else f"one of {slots} verify slots"
    which += f" of the pool {place}" if place else ""
    first = f"{count(before, 'claim')} before it" if before else "no claim before it"
    text = f"It waits for {which} ({busy} of {slots} in use), with {first}."
    return Reason(Cause.VERIFY_SLOTS, text + again, "More `verify_slots` in the configuration verify more at once.")


def _goes_first(scene: Scene, batch: Batch, other: AttemptKey, key: AttemptKey) -> bool:
    if other.batch == key.batch:
        return other < key
    return scene.state.batches[other.batch].priority > batch.priority
