"""Loading the configuration from its sources, and explaining what is wrong with it."""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource
from pydantic_settings.exceptions import SettingsError

from supervisor import paths
from supervisor.errors import Misconfigured
from supervisor.settings.alerting import AlertTable, MailTable, WebhookTable
from supervisor.settings.dashboard import DashboardTable
from supervisor.settings.gate import GateTable, UpstreamTable
from supervisor.settings.governing import AccountTable, BudgetTable, PriceTable, RefusalTable
from supervisor.settings.policies import PolicyTable
from supervisor.settings.pools import PoolTable
from supervisor.settings.profiles import launch_rates, resolve
from supervisor.settings.scheduling import ScheduleTable
from supervisor.settings.tables import (
    GitHubTable,
    IntegrateAtTable,
    MngrTable,
    ProfileTable,
    Settings,
)
from supervisor.settings.telemetry import TelemetryTable
from supervisor.settings.values import PREFIX

#: variables of the agent contract, which are not configuration
CONTRACT = {"BATCH", "JOB", "ATTEMPT", "ROLE", "TEST", "RUN", "PROMPT", "OUTCOME", "PUBLISH"}


def load(config: Path | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Load the settings. Raises Misconfigured, with one sentence, if they are invalid.

    Without `config`, the default file is read if it exists. `overrides` are flags; None means not given."""
    layers = list(_layers(config, overrides))
    try:
        settings = Settings.model_validate(_merged([table for _, table in layers]))
    except ValidationError as invalid:
        raise _explained(invalid, layers) from None
    for name in settings.profiles:
        resolve(settings, name)
    for schedule in settings.schedules:
        resolve(settings, schedule.profile)
    launch_rates(settings)
    return settings


def origins(config: Path | None = None, overrides: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The source of each value that is not a default, by its dotted key."""
    return {key: origin for origin, table in _layers(config, overrides) for key in _leaves(table)}


def _layers(config: Path | None, overrides: Mapping[str, Any] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The sources of values by name, in order of increasing precedence."""
    yield from _file(config)
    try:
        yield "environment", EnvSettingsSource(Settings)()
    except SettingsError as error:
        key = re.search(r'field "(\w+)"', str(error))
        name = PREFIX + (key[1].upper() if key else "…")
        raise Misconfigured(
            f"{name} is not JSON", hint='write lists and tables as JSON, such as ["a", "b"]'
        ) from None
    for name in sorted(os.environ):
        _refuse_near_miss(name)
    yield "flag", {key: value for key, value in (overrides or {}).items() if value is not None}


def _file(config: Path | None) -> Iterator[tuple[str, dict[str, Any]]]:
    path = config or paths.config_file()
    try:
        yield f"file {path}", tomllib.loads(path.read_text())
    except FileNotFoundError:
        if config is not None:
            hint = "give another one with --config, or none to use the defaults"
            raise Misconfigured(f"there is no configuration file {path}", hint=hint) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{path} is not TOML: {error}", hint="correct it; nothing was changed") from None
    except OSError as error:
        hint = "make it readable, or give another one with --config"
        raise Misconfigured(f"{path} can't be read: {error.strerror}", hint=hint) from None


def _refuse_near_miss(name: str) -> None:
    """Other programs' variables may have our prefix, but a name close to a key is a typo."""
    key = name.removeprefix(PREFIX).partition("__")[0]
    if not name.startswith(PREFIX) or key in CONTRACT or key.lower() in Settings.model_fields:
        return
    if near := _nearest(key.lower(), Settings.model_fields, cutoff=0.8):
        raise Misconfigured(f"the variable {name} is not a setting", hint=f"did you mean {PREFIX}{near.upper()}?")


def _merged(tables: list[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            before = merged.get(key)
            both = isinstance(before, dict) and isinstance(value, dict)
            merged[key] = _merged([before, value]) if both else value  # type: ignore[list-item]
    return merged


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key


# --- explaining errors


def _explained(invalid: ValidationError, layers: list[tuple[str, dict[str, Any]]]) -> Misconfigured:
    errors = invalid.errors(include_url=False)
    first, more = errors[0], len(errors) - 1
    place = [str(part) for part in first["loc"] if part != "[key]"]
    key = ".".join(place)
    where = next(
        (f"{origin.removeprefix('file ')}: " for origin, table in reversed(layers) if place and _has(table, place)),
        "",
    )
    others = f" (and {more} more)" if more else ""
    if first["type"] == "extra_forbidden":
        known = _known_keys(place)
        near = _nearest(place[-1], known)
        hint = f"did you mean `{near}`?" if near else f"the keys there are: {', '.join(known)}"
        return Misconfigured(f"{where}{key} is not a key{others}", hint=hint)
    said = str(first["msg"]).removeprefix("Value error, ")
    said = said[:1].lower() + said[1:]
    message = f"{where}{key}: {said}{others}" if key else f"{said}{others}"
    return Misconfigured(message, hint="`supervisorctl config show` prints every key with its value")


def _has(table: Any, place: list[str]) -> bool:
    for part in place:
        if isinstance(table, list | tuple):
            return True
        if not isinstance(table, dict) or part not in table:
            return False
        table = table[part]
    return True


def _known_keys(place: list[str]) -> list[str]:
    tables: Mapping[str, dict[str, FieldInfo]] = {
        "mngr": MngrTable.model_fields,
        "github": GitHubTable.model_fields,
        "gate": GateTable.model_fields,
        "dashboard": DashboardTable.model_fields,
        "telemetry": TelemetryTable.model_fields,
        "pools": PoolTable.model_fields,
        "profiles": ProfileTable.model_fields,
        "policy": PolicyTable.model_fields,
        "accounts": AccountTable.model_fields,
        "budget": BudgetTable.model_fields,
        "prices": PriceTable.model_fields,
        "refusals": RefusalTable.model_fields,
        "schedules": ScheduleTable.model_fields,
        "alerts": AlertTable.model_fields,
        "webhooks": WebhookTable.model_fields,
        "mail": MailTable.model_fields,
    }
    if place[-2:-1] == ["integrate_at"]:
        return list(IntegrateAtTable.model_fields)
    if place[:2] == ["gate", "upstreams"]:
        return list(UpstreamTable.model_fields)
    return list(Settings.model_fields if len(place) == 1 else tables.get(place[0], {}))


def _nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    return next(iter(get_close_matches(word, list(words), n=1, cutoff=cutoff)), "")
