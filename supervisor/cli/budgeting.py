"""The verb `budget`."""

from typing import Any

import typer

from supervisor.cli import printing, session
from supervisor.cli.tables import table


def budget(ctx: typer.Context) -> None:
    """Show accounts: what they may use and have used, how many agents they serve, and why they are paused.

    Example: supervisorctl budget
    """
    here = session.of(ctx)
    data = here.client.get("/v1/budget")
    here.show(data, budget_text(data))


def budget_text(data: dict[str, Any]) -> str:
    if not data["accounts"]:
        return "no account is used or configured yet"
    parts = [
        table(("account", "pays", "agents", "today", "week", "a job"), [_account(each) for each in data["accounts"]])
    ]
    rows = [_limit(limit) for account in data["accounts"] for limit in account["limits"]]
    rows += [_of_batch(batch["id"], limit) for batch in data["batches"] for limit in batch["limits"]]
    if rows:
        rows = list(dict.fromkeys(rows))  # accounts share the caps of the budget
        parts.append(table(("limit", "spent", "reserved", "cap", "resets"), rows))
    windows = [_window(account["name"], each) for account in data["accounts"] for each in account.get("windows", ())]
    if windows:
        parts.append(table(("window", "used", "for agents", "resets"), windows))
    parts += [printing.clean(pause["message"]) for account in data["accounts"] for pause in account["pauses"]]
    parts += [_asleep(account) for account in data["accounts"] if account.get("asleep")]
    return "\n\n".join(parts)


def _account(account: dict[str, Any]) -> tuple[object, ...]:
    tokens = [f"{account[key]:,}" for key in ("today_tokens", "week_tokens", "job_tokens")]
    spent = "subscription" if account["dollars"] is None else f"${account['dollars']:,.2f}"
    return printing.clean(account["name"]), spent, f"{account['agents']}/{account['level']}", *tokens


def _asleep(account: dict[str, Any]) -> str:
    sleep = "agent sleeps" if account["asleep"] == 1 else "agents sleep"
    name, tokens = printing.clean(account["name"]), account["asleep_tokens"]
    return f"{account['asleep']} {sleep} on the account {name}: going on sends {tokens:,} tokens again"


def _limit(limit: dict[str, Any]) -> tuple[object, ...]:
    amounts = [_amount(limit, key) for key in ("spent", "reserved", "cap")]
    return printing.clean(limit["name"]), *amounts, limit["resets_at"]


def _window(account: str, window: dict[str, Any]) -> tuple[object, ...]:
    shares = [f"{100 * window[key]:.4g} %" for key in ("used", "cap")]
    return printing.clean(f"account {account}: {window['name']}"), *shares, window["resets_at"]


def _of_batch(batch: str, limit: dict[str, Any]) -> tuple[object, ...]:
    return f"batch {batch}: {limit['unit']}", _amount(limit, "spent"), "", _amount(limit, "cap"), ""


def _amount(limit: dict[str, Any], key: str) -> str:
    return f"${limit[key]:,.2f}" if limit["unit"] == "dollars" else f"{limit[key]:,}"
