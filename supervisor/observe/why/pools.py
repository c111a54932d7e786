"""Why a pool launches nothing more now, or has room that nobody uses."""

from collections.abc import Iterator

from supervisor.flow import slots
from supervisor.model.batch import Batch
from supervisor.model.pool import Pool
from supervisor.observe.held_back import held_back
from supervisor.observe.why import waiting
from supervisor.observe.why.answer import Answer, Cause, Reason
from supervisor.observe.why.scene import Scene, count, sentence


def of_pool(scene: Scene, pool: Pool) -> Answer:
    where = f"The pool {pool.name} has its agents from the provider {pool.provider}."
    return Answer(pool.name, "pool", _state(pool), where, tuple(_reasons(scene, pool)))


def _state(pool: Pool) -> str:
    if pool.resting:
        return "resting"
    if pool.slots == 0:
        return "closed"
    return "usable" if pool.has_room else "full"


def _reasons(scene: Scene, pool: Pool) -> Iterator[Reason]:
    closed = waiting.no_room(scene, pool)
    if closed is not None:
        yield closed
    elif (told := held_back(scene.state, pool, scene.now)) and pool.name in slots.awaited(scene.state):
        yield Reason(Cause.LAUNCH_RATE, sentence(told[0].upper() + told[1:]))
    yield from _avoided(scene, pool)
    yield from _wanting(scene, pool) if closed is None else _queue(scene, pool)


def _avoided(scene: Scene, pool: Pool) -> Iterator[Reason]:
    for host, until in sorted(pool.avoided.items()):
        if until > scene.now:
            text = f"A launch on its host {host} failed, so its other hosts go first until {scene.until(until)}."
            yield Reason(Cause.HOSTS_AVOIDED, text)


def _users(scene: Scene, pool: Pool) -> list[Batch]:
    """The open batches that have jobs to launch, and may use the pool."""
    found = [batch for batch in scene.state.in_order() if batch.next_waiting is not None]
    return [batch for batch in found if pool.name in batch.profile.pools]


def _queue(scene: Scene, pool: Pool) -> Iterator[Reason]:
    """The batches that wait for a pool without room."""
    users = _users(scene, pool)
    if users:
        named = ", ".join(f"{waiting.ready(batch):,} of {batch.id}" for batch in users[:3])
        more = f" and of {count(len(users) - 3, 'more batch', 'more batches')}" if len(users) > 3 else ""
        yield Reason(Cause.OTHERS_FIRST, f"Jobs that may use it wait: {named}{more}.")


def _wanting(scene: Scene, pool: Pool) -> Iterator[Reason]:
    """Why nobody uses the pool's room."""
    if not (users := _users(scene, pool)):
        used = f"{pool.busy} of {count(pool.slots, 'slot')} in use"
        yield Reason(Cause.ROOM, f"It has {used}, and no job that may use it waits for an agent.")
        return
    for batch in users[:3]:
        holding = next(waiting.blockers(scene, batch), None)
        if holding is None:
            yield Reason(Cause.NEXT, f"Jobs of {batch.id} are launched there in their turn.")
        else:
            jobs = f"{count(waiting.ready(batch), 'job')} of {batch.id}"
            text = f"It has room, but {jobs} can't be launched: {holding.text}"
            yield Reason(holding.cause, text, holding.change)
