"""Agents that sleep while their account is paused: which of them are woken, when, and in which order.

Theory of operation. An agent sleeps if it was refused for a reason that its account waits out. Once the end of the
pause is known, so is the cost of waking the agent then (`waking`). If starting its job again costs less, the agent is
put away at once, and its slot is free. So is an agent that is not known to be worth its slot for a long pause. The
others sleep until their account is open, and are told to go on one after the other, the smallest conversation first.
Each is priced again when its turn comes, because jobs that ended meanwhile may have shown what a job costs.
"""

from hashlib import sha256

from supervisor.flow import policy
from supervisor.flow.governor import waking
from supervisor.model import event as ev
from supervisor.model.account import Account, Pause
from supervisor.model.attempt import Attempt
from supervisor.model.batch import Batch
from supervisor.model.hindrance import WAITED_OUT, Hindrance
from supervisor.model.job import JobState
from supervisor.model.state import State
from supervisor.model.waking import Waking

#: the time within which a refusal that was just heard is acted on
SOON_SECONDS = 1.0
#: Any agent that is worth waking sleeps through a pause up to this long.
SLEEP_SECONDS = 600.0
#: An agent sleeps through a longer pause only if this share of its time limit is left when it is woken.
LEFT_SHARE = 0.5
#: Sleeping agents are woken within so many seconds after the pause.
WAKING_SECONDS = 30.0
#: After a refusal for the rate: within so many seconds, if as many agents as the level allows are awake.
CROWDED_SECONDS = 300.0


def jitter(*words: object) -> float:
    """A number from 0 to 1 that depends on the words only, so that a replay gets the same one."""
    return int.from_bytes(sha256("/".join(map(str, words)).encode()).digest()[:4]) / 2**32


def sleeps(state: State, attempt: Attempt) -> bool:
    """Whether the agent was refused for a reason that its account waits out."""
    job = state.batches[attempt.key.batch].job(attempt.key.job)
    return job.setbacks.hindrance in WAITED_OUT and attempt.account in state.accounts


def was_told(state: State, attempt: Attempt) -> bool:
    """Whether the agent was told to go on since it was last refused."""
    job = state.batches[attempt.key.batch].job(attempt.key.job)
    return "again" in attempt.nudges and (attempt.nudged_at or 0.0) > job.setbacks.hindered_at


# --- when


def wake_at(state: State, attempt: Attempt, at: float) -> float:
    """When to check the agent again: after the pause that holds it, or at once if it does not sleep through that."""
    if state.accounts[attempt.account].objections:
        return at + SOON_SECONDS  # the pause that they lead to is decided in this turn
    pause = _holding(state, attempt, at)
    if pause is None or unwanted(state, attempt, at):
        return at
    return pause.until + _within(state, attempt, pause.reason) * jitter(attempt.agent_id, round(pause.until))


def through(state: State, account: Account, at: float) -> State:
    """The account is paused, or for longer than was known: each of its sleeping agents is considered again."""
    for attempt in asleep(state, account):
        state = state.put(("quiet", *attempt.key), wake_at(state, attempt, at))
    return state


def woken(state: State, account: Account, reason: str, at: float) -> State:
    """A pause is over: the agents that no other pause holds are woken, the smallest conversation first."""
    up = [each for each in asleep(state, account) if not was_told(state, each) and not _holding(state, each, at)]
    within = _within(state, up[0], reason) if up else 0.0
    for place, attempt in enumerate(sorted(up, key=lambda each: (_size(state, each, at), each.key))):
        share = (place + jitter(attempt.agent_id, round(at)) / 2) / len(up)
        state = state.put(("quiet", *attempt.key), at + within * share)
    return state


def asleep(state: State, account: Account) -> list[Attempt]:
    """The agents that wait for their account, or have just been told to go on."""
    return [
        attempt
        for attempt in state.attempts.values()
        if attempt.account == account.name
        and attempt.quiet_since is not None
        and attempt.waits
        and ("quiet", *attempt.key) in state.agenda.times
        and state.batches[attempt.key.batch].job(attempt.key.job).state is JobState.RUNNING
        and sleeps(state, attempt)
    ]


def _holding(state: State, attempt: Attempt, at: float) -> Pause | None:
    """The pause that the agent waits for, if it is not over at that time."""
    pause = state.accounts[attempt.account].pause_for(attempt.usage.model)
    return pause if pause is not None and (not pause.until or pause.until > at) else None


def _size(state: State, attempt: Attempt, at: float) -> int:
    priced = waking.priced(state, attempt, at)
    return priced.cost if priced is not None else 0


def _within(state: State, attempt: Attempt, reason: str) -> float:
    is_crowded = reason == Hindrance.RATE and _others_awake(state, attempt) >= _level(state, attempt)
    return CROWDED_SECONDS if is_crowded else WAKING_SECONDS


def _level(state: State, attempt: Attempt) -> int:
    return state.accounts[attempt.account].level.agents


def _others_awake(state: State, attempt: Attempt) -> int:
    """How many other agents of its account do not sleep."""
    others = sum(
        each.account == attempt.account and each.holds_slot and each.quiet_since is not None and each.waits
        for each in state.attempts.values()
        if each.key != attempt.key
    )
    return state.accounts[attempt.account].busy - others - 1


# --- whether


def unwanted(state: State, attempt: Attempt, at: float) -> str:
    """Why the agent is put away now, and neither sleeps on nor is woken, in one sentence; "": it is not."""
    pause = _holding(state, attempt, at)
    if pause is not None and not pause.until:
        return "nobody knows when its account is open again"
    priced = _priced(state, attempt, at)
    if priced is not None and not priced.is_worth_it:
        return priced.told
    if pause is None or pause.until <= at + SLEEP_SECONDS:
        return ""
    if priced is None:
        return "its account is paused for long, and it is not known what waking it up would cost"
    limit = state.batches[attempt.key.batch].seconds_of(attempt.key.job)
    if _time_left(state, attempt, pause.until) < LEFT_SHARE * limit:
        return "its account is paused for long: too little of its time limit would be left"
    return "others can use its slot meanwhile" if _is_slot_wanted(state, attempt) else ""


def _priced(state: State, attempt: Attempt, at: float) -> Waking | None:
    """The cost of waking the agent at the latest time of its turn."""
    pause = _holding(state, attempt, at)
    return waking.priced(state, attempt, at if pause is None else pause.until + WAKING_SECONDS)


def _time_left(state: State, attempt: Attempt, at: float) -> float:
    return state.agenda.times.get(("time-out", *attempt.key), at) - at


def _is_slot_wanted(state: State, attempt: Attempt) -> bool:
    """Its pool is full, and a job that waits for it has an account that is not paused, or needs none."""
    pool = state.pools[attempt.pool]
    return not pool.has_room and any(
        pool.name in batch.profile.pools and batch.next_waiting is not None and _has_open_account(state, batch)
        for batch in state.batches.values()
    )


def _has_open_account(state: State, batch: Batch) -> bool:
    model = policy.model_of(batch.profile) or batch.usage.model
    found = (state.accounts.get(name) for name in batch.profile.accounts or (batch.profile.agent,))
    return any(account is None or account.pause_for(model) is None for account in found)


def declined(state: State, attempt: Attempt, now: float) -> ev.WakingDeclined | None:
    """The event that puts the agent away when its turn comes; None: it is woken."""
    why = unwanted(state, attempt, now)
    if not why and _holding(state, attempt, now) is None:
        return None
    detail = why or "its account is still paused"
    return ev.WakingDeclined(now, *attempt.key, detail=detail, waking=_priced(state, attempt, now))
