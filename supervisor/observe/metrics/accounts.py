"""Metrics of accounts: how many agents each serves, why it serves none, and what was spent.

Their totals are in the state, so they continue across a restart of the daemon.
"""

from collections.abc import Iterable, Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from supervisor.flow.governor import shares
from supervisor.model.account import CAP, NO_USE, PACE, Account
from supervisor.model.hindrance import Hindrance
from supervisor.observe.metrics.meters import PREFIX

REASONS = (*(each.value for each in Hindrance), CAP, NO_USE, PACE)
MICRO = 1e-6


def of_accounts(accounts: Iterable[Account], now: float) -> Iterator[Metric]:
    found = sorted(accounts, key=lambda account: account.name)
    limit = _gauge("account_agents_limit", "Agents that an account serves at once, as far as is known.", "account")
    busy = _gauge("account_agents", "Agents of an account that hold a slot.", "account")
    paused = _gauge("account_paused", "Whether an account, or a model of it, is paused.", "account", "reason")
    held = _counter("account_paused_seconds", "How long an account was paused, in pauses that are over.", "reason")
    tokens = _counter("account_tokens", "Tokens that were used on an account, ever.", "kind")
    about = "The share of a subscription's window that is used, by agents and people, as its provider told it last."
    windows = _gauge("account_window_used_ratio", about, "account", "window")
    money = _counter("account_dollars", "What was spent on an account that is paid for, ever.")
    for account in found:
        limit.add_metric([account.name], account.most)
        busy.add_metric([account.name], account.busy)
        reasons = {pause.reason for pause in account.pauses.values()}
        for reason in REASONS:
            paused.add_metric([account.name, reason], float(reason in reasons))
            held.add_metric([account.name, reason], account.paused_seconds.get(reason, 0.0))
        for window in shares.current(account, now):
            windows.add_metric([account.name, window.name], window.used)
        used = account.ever.usage
        for kind, number in (("input", used.input), ("output", used.output), ("cached", used.cached)):
            tokens.add_metric([account.name, kind], number)
        money.add_metric([account.name], account.ever.money * MICRO)
    return iter((limit, busy, paused, windows, held, tokens, money))


def _gauge(name: str, about: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{PREFIX}_{name}", about, labels=labels)


def _counter(name: str, about: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"{PREFIX}_{name}", about, labels=("account", *labels))
