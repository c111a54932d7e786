"""Accounts as data for JSON: what they may use, have used and reserved, their levels, and why they are paused."""

from supervisor.flow.governor import pauses, shares, sleeping, spending
from supervisor.model.account import Account, Pause
from supervisor.model.batch import Batch
from supervisor.model.price import MICRO
from supervisor.model.share import WindowShare
from supervisor.model.state import State
from supervisor.observe.snapshot import View, answer, rfc3339


def budget(state: State, now: float) -> View:
    """`supervisorctl budget`."""
    batches = [_batch(each) for each in state.in_order()]
    return answer(now, accounts=accounts(state, now), batches=[each for each in batches if each["limits"]])


def accounts(state: State, now: float) -> list[View]:
    return [account(state, state.accounts[name], now) for name in sorted(state.accounts)]


def account(state: State, found: Account, now: float) -> View:
    usage, asleep = found.ever.usage, sleeping.asleep(state, found)
    kinds = {"input": usage.input - usage.written, "cache_write": usage.written}
    return {
        "name": found.name,
        "pays": "money" if found.spec.is_paid else "subscription",
        "agents": found.busy,
        "level": found.most,
        "level_why": found.level.why,
        "pauses": [_pause(found, each) for each in found.pauses.values()],
        "asleep": len(asleep),
        "asleep_tokens": sum(each.usage.context for each in asleep),
        "limits": [_limit(each) for each in spending.limits(state, found, now)],
        "windows": [_window(found, each) for each in shares.current(found, now)],
        "tokens": kinds | {"cache_read": usage.cached, "output": usage.output},
        "today_tokens": spending.current(found.day, now).usage.tokens,
        "week_tokens": spending.current(found.week, now).usage.tokens,
        "dollars": found.ever.money / MICRO if found.spec.is_paid else None,
        "jobs": found.jobs,
        "job_tokens": spending.expected(state, found, is_money=False),
        "paused_seconds": dict(found.paused_seconds),
    }


def _pause(found: Account, pause: Pause) -> View:
    return {
        "reason": pause.reason,
        "model": pause.model or None,
        "since": rfc3339(pause.since),
        "until": rfc3339(pause.until or None),
        "message": pauses.told(found, pause),
    }


def _limit(limit: spending.Limit) -> View:
    def amount(number: int) -> float:
        return number / MICRO if limit.is_money else number

    return {
        "name": limit.name,
        "unit": "dollars" if limit.is_money else "tokens",
        "cap": amount(limit.most),
        "spent": amount(limit.spent),
        "reserved": amount(limit.reserved),
        "resets_at": rfc3339(limit.until),
    }


def _window(found: Account, window: WindowShare) -> View:
    return {
        "name": window.name,
        "used": round(window.used, 4),
        "cap": round(1 - found.spec.leave, 4),
        "resets_at": rfc3339(window.resets_at),
        "told_at": rfc3339(window.told_at or None),
    }


def _batch(batch: Batch) -> View:
    profile = batch.profile
    limits: list[View] = []
    if profile.budget_tokens:
        limits.append({"unit": "tokens", "cap": profile.budget_tokens, "spent": batch.usage.tokens})
    if profile.budget_dollars:
        limits.append({"unit": "dollars", "cap": profile.budget_dollars, "spent": batch.money / MICRO})
    return {"id": batch.id, "limits": limits}
