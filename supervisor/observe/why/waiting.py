"""What keeps the jobs of a batch from being launched, by the same conditions as `slots.next_launch`.

The answer lists everything that holds them, because all of it has to end: first what a person or the provider of a
model has to end, then the batch's own limits, then its pools, which matter only if none of them has room.
"""

from collections.abc import Iterator

from supervisor.flow import breaker, canary, policy, rates, surveying
from supervisor.flow.governor import accounts
from supervisor.model.batch import Batch
from supervisor.model.node import file_of
from supervisor.model.pausing import Pausing
from supervisor.model.pool import Pool
from supervisor.model.state import State
from supervisor.observe.held_back import held_back
from supervisor.observe.why.answer import Cause, Reason
from supervisor.observe.why.scene import Scene, because, by, count, quoted, sentence


def blockers(scene: Scene, batch: Batch) -> Iterator[Reason]:
    """What keeps the batch's jobs from being launched; no reason: only the order does."""
    yield from held(scene, batch)
    yield from unsurveyed(batch)
    if 0 < batch.profile.slots <= batch.busy:
        yield Reason(
            Cause.BATCH_SLOTS,
            f"Its batch has {count(batch.busy, 'agent')}; its profile {batch.profile.name} allows no more at once.",
            "The end of one of them makes room.",
        )
    if not canary.has_room(batch):
        change = "One has come through when its work is collected; the next job takes the place of one that fails."
        yield Reason(Cause.CANARIES, sentence(f"In its batch {canary.told(batch)}"), change)
    if accounts.open_for(scene.state, batch, scene.now) is None:
        for name in accounts.names_of(batch.profile):
            told = accounts.held(scene.state, batch, name, scene.now)
            yield Reason(Cause.ACCOUNT, sentence(told[0].upper() + told[1:]), "`supervisorctl budget` shows more.")
    closed = [reason for name in batch.profile.pools if (reason := _closed_to(scene, batch, name)) is not None]
    if len(closed) == len(batch.profile.pools):
        yield from closed


def held(scene: Scene, batch: Batch) -> Iterator[Reason]:
    """What holds all of a batch."""
    state = scene.state
    if state.paused:
        text = f"The queue was paused{_when(scene, state.pausing)}{because(state.pause_reason)}"
        yield Reason(Cause.QUEUE_PAUSED, text, "`supervisorctl resume` lets agents be launched again.")
    if batch.paused:
        change = f"`supervisorctl resume {batch.id}` ends that."
        yield Reason(Cause.BATCH_PAUSED, f"The batch {batch.id} was paused{_when(scene, batch.pausing)}.", change)
    if batch.stop.reason:
        yield stopped(batch)
    if not batch.window_open:
        window = f"{batch.profile.window} ({batch.profile.timezone})"
        opens = scene.due("window", batch.id)
        change = f"It opens at {scene.until(opens)}." if opens is not None else ""
        yield Reason(Cause.WINDOW, f"Jobs of its batch start only in the window {window}, which is closed.", change)


def unsurveyed(batch: Batch) -> Iterator[Reason]:
    """The survey has to show first which tests fail at the same place."""
    if batch.next_waiting is None and (number := batch.next_queued) is not None:
        name, file = batch.job_id(number), file_of(batch.job(number).test)
        text = f"Jobs of its batch are launched after their files were run at the base; next is {file} of {name}."
        change = "That tells who fails at one place of shared code, and gets one agent together (`hold_siblings`)."
        yield Reason(Cause.SURVEY_FIRST, sentence(text), change)


def _when(scene: Scene, pausing: Pausing | None) -> str:
    return "" if pausing is None else f"{by(pausing.by)} at {scene.ago(pausing.at)}"


def stopped(batch: Batch) -> Reason:
    resume = f"`supervisorctl resume {batch.id}`"
    match batch.stop.reason:
        case "budget":
            text = sentence(f"The batch is stopped for good: {quoted(batch.stop.detail)}")
            return Reason(Cause.BUDGET, text, "What is left can be submitted again, with a larger `budget_tokens`.")
        case breaker.TRIPPED:
            text = f"The breaker has stopped the batch{because(batch.stop.detail)}"
            return Reason(Cause.BREAKER, text, f"Look at what they have in common; {resume} lets the others go on.")
        case surveying.STOPPED:
            text = f"The batch is stopped before more agents are paid{because(batch.stop.detail)}"
            return Reason(Cause.BROKEN_BASE, text, f"Mend the base, or go on as it is with {resume}.")
        case _:
            text = f"The batch is stopped{because(batch.stop.detail or batch.stop.reason)}"
            return Reason(Cause.PROVIDER_REFUSES, text, f"Solve that, then run {resume}.")


# --- pools


def _closed_to(scene: Scene, batch: Batch, name: str) -> Reason | None:
    """Why the batch can launch nothing in this pool now; None: it can."""
    pool = scene.state.pools.get(name)
    if pool is None or policy.may_use(batch.profile, pool):
        return _closed(scene, name)
    text = f"The data policy of its repository keeps its code from the pool {name} (provider {pool.provider})."
    return Reason(Cause.POLICY, text, "Submit it with another profile, or change `[policy]` and submit it again.")


def _closed(scene: Scene, name: str) -> Reason | None:
    """Why nothing can be launched in this pool now; None: something can."""
    if (pool := scene.state.pools.get(name)) is None:
        return Reason(
            Cause.POOL_GONE, f"The pool {name} is not configured.", "Configure it, and `supervisorctl reload`."
        )
    return no_room(scene, pool) or _rate(scene, pool)


def no_room(scene: Scene, pool: Pool) -> Reason | None:
    """The cases of `Pool.has_room`."""
    if pool.resting:
        ends = scene.due("rest", pool.name)
        until = f" until {scene.until(ends)}" if ends is not None else ""
        why = f", because its provider {pool.provider} failed to launch an agent{because(pool.trouble)}"
        change = "Then launching there is tried again, and jobs may use another pool of their profile meanwhile."
        return Reason(Cause.POOL_RESTS, f"The pool {pool.name} rests{until}{why}", change)
    if pool.slots == 0:
        return _no_slots(scene.state, pool)
    if pool.busy >= pool.slots:
        text = f"The pool {pool.name} is full: {pool.busy} of {count(pool.slots, 'slot')} in use."
        more = f"`supervisorctl slots {pool.name} {pool.slots + 1}` makes one more."
        return Reason(Cause.POOL_FULL, text, f"{_first_end(scene, pool)} {more}")
    if pool.lingering > pool.slots:
        text = f"The pool {pool.name} has {count(pool.lingering, 'agent')} that still have to be put away."
        return Reason(Cause.POOL_LINGERS, text, "When fewer are left, new ones are launched.")
    return None


def _no_slots(state: State, pool: Pool) -> Reason:
    if all(spec.name != pool.name for spec in state.configured):
        text = f"The pool {pool.name} was removed from the configuration."
        return Reason(Cause.POOL_GONE, text, "Configure it again, and `supervisorctl reload`.")
    change = f"`supervisorctl slots {pool.name} 4` opens it."
    return Reason(Cause.POOL_CLOSED, f"The pool {pool.name} has no slots.", change)


def _first_end(scene: Scene, pool: Pool) -> str:
    """The latest time at which a slot becomes free."""
    working = (each.key for each in scene.state.attempts.values() if each.pool == pool.name)
    ends = [at for key in working if (at := scene.due("time-out", *key)) is not None]
    if not ends:
        return "A slot is free as soon as the work of one of its agents is safe."
    return f"A slot is free when one of its agents is done; the first time limit ends at {scene.until(min(ends))}."


def _rate(scene: Scene, pool: Pool) -> Reason | None:
    told = held_back(scene.state, pool, scene.now)
    if told is None or not rates.of(scene.state, pool).per_second:
        return None
    return Reason(Cause.LAUNCH_RATE, sentence(told[0].upper() + told[1:]), "It is a matter of seconds or minutes.")


# --- the order


def place(scene: Scene, batch: Batch, number: int) -> str:
    """`behind 3 jobs of higher priority and 11 of its own batch`."""
    rivals = [each for each in scene.state.batches.values() if each.id != batch.id and _competes(each, batch)]
    higher = sum(ready(each) for each in rivals if each.priority > batch.priority)
    turns = sum(ready(each) for each in rivals if each.priority == batch.priority)
    own = _earlier(batch, number)
    before = [f"{count(higher, 'job')} of higher priority"] if higher else []
    before += [f"{own:,} of its own batch" if higher else f"{count(own, 'job')} of its own batch"] if own else []
    said = [f"behind {' and '.join(before)}"] if before else [] if turns else ["first in line"]
    said += [f"in turn with {count(turns, 'job')} of other batches"] if turns else []
    return ", ".join(said)  # never empty: either nothing is before it, or something is


def _competes(other: Batch, batch: Batch) -> bool:
    """Whether jobs of the other batch may take a slot that this one could have."""
    launches = not other.paused and other.window_open and other.next_waiting is not None
    has_slots = not other.profile.slots or other.busy < other.profile.slots
    return (
        launches
        and has_slots
        and canary.has_room(other)
        and bool(set(other.profile.pools) & set(batch.profile.pools))
    )


def ready(batch: Batch) -> int:
    """The jobs that could be launched now, were there slots for all of them."""
    return len(batch.again) + len(batch.tests) - len(batch.touched)


def _earlier(batch: Batch, number: int) -> int:
    """The jobs of the same batch that go first."""
    if number in batch.again:
        return batch.again.index(number)
    between = number - batch.cursor - 1
    if len(batch.touched) > batch.cursor:  # some beyond the cursor were cancelled before their turn
        between -= sum(other in batch.touched for other in range(batch.cursor + 1, number))
    return len(batch.again) + max(0, between)
