"""How much of a subscription's windows agents may use: a share is left for people, and the rest is spread evenly.

Theory of operation. Some providers report with their answers what share of each window is used, by agents and people
together. The newest report counts until the window's reset; then nothing is known until the next one. The share that
a job will use is not known, so nothing is reserved: once the share for agents is used, the account is paused as for a
cap. A reported share of 0 is ignored: some programs write it before they have any report.
"""

from supervisor.flow.governor import sleeping
from supervisor.model import event as ev
from supervisor.model.account import CAP, PACE, Account
from supervisor.model.share import MOST_MINUTES, WindowShare
from supervisor.model.state import State

#: A pause ends up to this much later than its window: clocks differ, and others wait for the same moment.
JITTER_SECONDS = 60.0
#: A reset may be this much further away than its window is long: clocks differ, and some resets are rounded.
SLACK_SECONDS = 3600.0
#: the least change that is news: of the used share, or of the time of the reset
LEAST_CHANGE, LEAST_SECONDS = 0.01, 60.0
#: the most windows of an account; further ones are ignored
MOST_WINDOWS = 4
_TINY = 1e-9


def current(account: Account, now: float) -> list[WindowShare]:
    """The windows that are not over, the shortest first."""
    return sorted((each for each in account.windows.values() if each.resets_at > now), key=lambda each: each.seconds)


def lacking(state: State, account: Account, now: float) -> ev.AccountPaused | None:
    """The pause that an account needs because of its windows; None: none."""
    if found := reached(state, account, now):
        until, detail = max(found)
        return ev.AccountPaused(now, account.name, CAP, until, detail=detail)
    for window in current(account, now) if account.spec.pace else ():
        if (until := _paced_until(account, window)) > now:
            over = 1 - (window.resets_at - now) / window.seconds
            detail = f"{_used(window)}, and {percent(max(0.0, over))} of its time are over"
            return ev.AccountPaused(now, account.name, PACE, until, detail=detail)
    return None


def reached(state: State, account: Account, now: float) -> list[tuple[float, str]]:
    """The windows whose share for agents is used: until when, and why in words."""
    leave = account.spec.leave
    return [
        (_end(state, account, each), f"{_used(each)}, and {percent(leave)} are left for people")
        for each in current(account, now)
        if _is_reached(account, each)
    ]


def percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _is_reached(account: Account, window: WindowShare) -> bool:
    return account.spec.leave > 0 and window.used + account.spec.leave >= 1 - _TINY


def _paced_until(account: Account, window: WindowShare) -> float:
    share = min(1.0, window.used / (1 - account.spec.leave))
    return window.resets_at - window.seconds * (1 - share)


def _end(state: State, account: Account, window: WindowShare) -> float:
    jitter = sleeping.jitter(state.installation, account.name, round(window.resets_at))
    return window.resets_at + JITTER_SECONDS * jitter


def _used(window: WindowShare) -> str:
    return f"{percent(window.used)} of its {window.called} are used"


# --- what is reported


def heard(state: State, name: str, told: WindowShare, now: float) -> ev.AccountWindowSeen | None:
    """The event for a share that was read; None: it is not news, or not plausible."""
    account = state.accounts.get(name)
    if account is None or not _is_believed(told, now):
        return None
    known = {each.minutes: each for each in current(account, now)}
    before = known.get(told.minutes)
    is_news = len(known) < MOST_WINDOWS if before is None else _is_news(account, before, told)
    if not is_news:
        return None
    return ev.AccountWindowSeen(now, name, told.minutes, min(told.used, 1.0), told.resets_at, min(told.told_at, now))


def _is_believed(told: WindowShare, now: float) -> bool:
    """Whether the report is plausible: its source is not trusted."""
    farthest = now + told.seconds + SLACK_SECONDS
    return 0 < told.minutes <= MOST_MINUTES and told.used > 0 and now < told.resets_at <= farthest


def _is_news(account: Account, before: WindowShare, told: WindowShare) -> bool:
    if told.told_at <= before.told_at:
        return False
    is_other = abs(min(told.used, 1.0) - before.used) >= LEAST_CHANGE - _TINY
    is_moved = abs(told.resets_at - before.resets_at) >= LEAST_SECONDS
    return is_other or is_moved or _is_reached(account, before) != _is_reached(account, told)


def after(account: Account, event: ev.AccountWindowSeen) -> dict[int, WindowShare]:
    """Its windows after the event, without those that are over."""
    kept = {each.minutes: each for each in current(account, event.at)}
    return kept | {event.minutes: WindowShare(event.minutes, event.used, event.resets_at, event.told_at)}
