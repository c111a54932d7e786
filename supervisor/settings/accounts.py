"""Accounts, the budget and the words of refusals as the core and the logs need them."""

from supervisor.model.account import Budget
from supervisor.model.price import PRICES
from supervisor.model.request import ConfigureAccounts
from supervisor.settings.profiles import local_timezone
from supervisor.settings.tables import Settings
from supervisor.transcripts.refusals import PHRASES, Phrase


def governing(settings: Settings) -> ConfigureAccounts:
    table = settings.budget
    timezone = table.timezone or local_timezone()
    prices = (*(each.price() for each in settings.prices), *PRICES)
    budget = Budget(table.caps(), table.guess_tokens, table.grace, prices, timezone)
    return ConfigureAccounts(tuple(each.spec(name, timezone) for name, each in settings.accounts.items()), budget)


def phrases(settings: Settings) -> tuple[Phrase, ...]:
    return (*(each.phrase() for each in settings.refusals), *PHRASES)
