"""Wrapping up: agents at work when a cap or their batch's budget is reached are told to publish, then put away."""

from supervisor.model.account import CAP, Account
from supervisor.model.attempt import Attempt, Stage
from supervisor.model.state import State


def wrapped_up(state: State, account: Account, at: float) -> State:
    """Tell the account's agents to publish; a program can't be told, and is put away after the same time."""
    for attempt in state.attempts.values():
        if attempt.account == account.name and attempt.stage is Stage.LIVE:
            state = told(state, attempt, at)
    return state


def launched(state: State, attempt: Attempt, at: float) -> State:
    """If a cap was reached during the launch, tell the agent to publish."""
    account = state.accounts.get(attempt.account)
    return told(state, attempt, at) if account is not None and CAP in account.pauses else state


def told(state: State, attempt: Attempt, at: float) -> State:
    batch = state.batches[attempt.key.batch]
    if batch.is_spent:
        return state
    is_told = batch.profile.is_talked_to and "cap" not in attempt.nudges
    late = at + state.budget.grace_seconds
    return state.put(("wrap-up", *attempt.key), at) if is_told else state.put(("halt", *attempt.key), late)


def spared(state: State, account: Account) -> State:
    """The cap is no longer reached: agents that were told to publish may go on."""
    for attempt in state.attempts.values():
        if attempt.account == account.name and not state.batches[attempt.key.batch].is_spent:
            state = state.drop(("halt", *attempt.key), ("wrap-up", *attempt.key))
    return state
