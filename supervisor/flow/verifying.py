"""Which claims are verified next, and in which groups.

Theory of operation. A claim waits until a slot is free; slots for verification are not those of agents. Batches of
higher priority go first, then the batch with the fewest groups under way, then the oldest.

Each remote pool has slots of its own. By default a claim is verified where its work was made: what was written in a
remote pool is not executed on this machine unless the profile says so. A pool that is away does not delay the others.

Waiting claims are verified in groups; each group takes one slot, and uses more while nobody else needs them. While
agents are at work, claims wait a moment for others: a group costs little more than one claim. The judge settles what
it can from common runs and puts the other claims back, each with the size of the largest group that it may still be
in, and with the jobs that may not be in that group. A claim that may only be alone is always settled.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Job, JobState
from supervisor.model.node import file_of
from supervisor.model.outcome import SUCCESSES, Outcome
from supervisor.model.pool import Pool
from supervisor.model.profile import Profile
from supervisor.model.state import State

#: claims wait so long for others, and so long after the last one, unless there are so many
GATHER_SECONDS, QUIET_SECONDS, ENOUGH = 30.0, 3.0, 32
#: the time that one run of all tests of a group should take at most
GROUP_SECONDS = 120.0
#: agents at work whose claims may come soon
_COMING = (JobState.LAUNCHING, JobState.RUNNING, JobState.COLLECTING)


# --- what happens


def wanted(state: State, key: AttemptKey, most: int | None = None) -> State:
    """A claim waits. By default it may be in as large a group as its profile allows."""
    batch = state.batches[key.batch]
    if most is None:
        most = max(1, batch.profile.verify_group) if _may_share(batch, batch.job(key.job)) else 1
    return replace(state, verifying=state.verifying.with_waiting(key, most))


def _may_share(batch: Batch, job: Job) -> bool:
    """Whether there is work to run, or the file of a test that needed none."""
    if job.is_on_trial:
        return True
    brought, profile = job.brought, batch.profile
    runs_file = brought.claim == Outcome.CLEAN and profile.survey != "none"
    has_runs = brought.claim in SUCCESSES and (bool(brought.head) or runs_file)
    return batch.role == "tester" and profile.verify_runs > 0 and has_runs


def put_back(state: State, key: AttemptKey, most: int, meets: Collection[int]) -> State:
    """A group did not settle the claim. The group was too large, unless it is known which jobs may not be in it."""
    left = state.verifying.left(key, is_red=most > 1 and not meets)
    return wanted(replace(state, verifying=left.with_apart(key, meets) if meets else left), key, most)


def let_go(state: State, key: AttemptKey, at: float) -> State:
    """The job was cancelled. If no other job is left in its group, the group is given up."""
    if (first := state.verifying.group_of.get(key)) is not None and state.verifying.groups[first].left == {key}:
        return state.put(("abandon", *first), at)
    return replace(state, verifying=state.verifying.left(key))


def all_wait_again(state: State) -> State:
    """The daemon has started: nothing is under way."""
    state = replace(state, verifying=state.verifying.from_the_start())
    for batch in state.batches.values():
        if batch.count(JobState.VERIFYING):
            for job in batch.touched.values():
                # A job that waits to be settled is already verified.
                if job.state is JobState.VERIFYING and ("settle", batch.id, job.number) not in state.agenda.times:
                    state = wanted(state, AttemptKey(batch.id, job.number, job.attempts))
    return state


# --- the choice


def next_group(state: State, now: float) -> tuple[str, tuple[AttemptKey, ...]]:
    """A pool ("": this machine), and the claims to verify now in one of its slots; no claims if no slot is free or no
    claim waits for one."""
    waiting: defaultdict[tuple[str, str, str], list[AttemptKey]] = defaultdict(list)
    gather = {batch for batch, until in gathering(state).items() if until > now}
    for key, most in state.verifying.waiting.items():
        if most == 1 or key.batch not in gather:
            job = state.batches[key.batch].job(key.job)
            waiting[court_of(state, key), key.batch, _borrowed(job)].append(key)
    free = {pool for pool in {pool for pool, *_ in waiting} if busy_of(state, pool) < slots_of(state, pool)}
    open_ = [(state.batches[batch], pool, tree) for pool, batch, tree in waiting if pool in free]
    if not open_:
        return "", ()
    under_way = Counter(first.batch for first in state.verifying.groups)
    batch, pool, tree = min(
        open_, key=lambda each: (-each[0].priority, under_way[each[0].id], each[0].number, each[1:])
    )
    return pool, tuple(_group(state, batch, _by_file(batch, waiting[pool, batch.id, tree])))


def gathered_at(state: State, now: float) -> float | None:
    """When the next claims have waited for others long enough."""
    return min((until for until in gathering(state).values() if until > now), default=None)


def gathering(state: State) -> dict[str, float]:
    """By batch: until when its claims wait for others. Only while some may come soon, and few have come."""
    since: defaultdict[str, list[float]] = defaultdict(list)
    for key, most in state.verifying.waiting.items():
        collected = state.batches[key.batch].job(key.job).times.collected
        if most > 1 and collected is not None:
            since[key.batch].append(collected)
    return {
        batch: min(min(times) + GATHER_SECONDS, max(times) + QUIET_SECONDS)
        for batch, times in since.items()
        if len(times) < ENOUGH and any(state.batches[batch].count(each) for each in _COMING)
    }


def _borrowed(job: Job) -> str:
    """The work of a sibling that its test is run with. Jobs that borrow the same work share a group."""
    return job.borrowed.head if job.is_on_trial and job.borrowed is not None else ""


def court_of(state: State, key: AttemptKey) -> str:
    """Where this claim is verified. Borrowed work is executed where all other work of its pool is."""
    batch = state.batches[key.batch]
    job = batch.job(key.job)
    made_in = job.borrowed.pool if job.is_on_trial and job.borrowed is not None else job.pool
    return place_of(state.pools, batch.profile, made_in)


def busy_of(state: State, pool: str = "") -> int:
    """The slots in use in a pool: by groups of claims, and by groups of files that are run at their base."""
    surveys = (batch for batch in state.batches.values() if batch.survey.under_way)
    files = sum(len(batch.survey.under_way) for batch in surveys if home_of(state.pools, batch.profile) == pool)
    return state.verifying.busy(pool) + files


def home_of(pools: Mapping[str, Pool], profile: Profile) -> str:
    """Where the base of a batch is surveyed: where most of its claims will be verified."""
    return place_of(pools, profile, profile.pools[0] if profile.pools else "")


def place_of(pools: Mapping[str, Pool], profile: Profile, made_in: str) -> str:
    """The remote pool that verifies work made in the pool `made_in`; "": this machine."""
    wanted = profile.verify_pools
    name = made_in if not wanted or made_in in wanted else wanted[0]
    pool = pools.get(name)
    # A pool that is no longer known does not count as this machine.
    is_here = not name or (pool.provider == "local" if pool is not None else name == "local")
    return "" if is_here else name


def slots_of(state: State, pool: str = "") -> int:
    """The verify slots. While no job waits for an agent, idle agent slots of this machine verify too: at most as many
    again."""
    if pool:
        return state.pools[pool].verifies_at_once if pool in state.pools else 1
    slots = state.verifying.slots
    if any(batch.next_waiting is not None for batch in state.batches.values()):
        return slots
    idle = sum(max(0, pool.slots - pool.busy) for pool in state.pools.values() if pool.provider == "local")
    return slots + min(slots, idle)


def _most_at_once(batch: Batch) -> int:
    """How many tests run one after the other in the time of a run, by what the survey has seen."""
    found = batch.survey.found
    return max(2, int(GROUP_SECONDS * found.tests / found.seconds)) if found.seconds else len(batch.tests)


def width_of(state: State, first: AttemptKey) -> int:
    """How many runs of a group may be under way: one, and as many more as its share of the slots that are free."""
    groups = sorted(key for key, group in state.verifying.groups.items() if not group.pool)
    if first not in groups:
        return 1
    share, left = divmod(max(0, slots_of(state) - busy_of(state)), len(groups))
    return 1 + share + (groups.index(first) < left)


def _by_file(batch: Batch, keys: Sequence[AttemptKey]) -> Sequence[AttemptKey]:
    """Oldest jobs first, each followed by those of its file: a group runs all tests of each file that it has."""
    files: defaultdict[str, list[AttemptKey]] = defaultdict(list)
    for key in sorted(keys):
        files[file_of(batch.job(key.job).test)].append(key)
    return [key for same in files.values() for key in same]


def _group(state: State, batch: Batch, keys: Sequence[AttemptKey]) -> Sequence[AttemptKey]:
    """The first claim, and later ones that may be in so large a group, and in one with those before them."""
    waiting = state.verifying.waiting
    first, *others = keys
    group = [first]
    most = min(waiting[first], state.verifying.size(batch.id), _most_at_once(batch))
    for key in others:
        if len(group) >= most:
            break
        if len(group) < waiting[key] and not any(state.verifying.are_apart(key, other) for other in group):
            group.append(key)
    return group
