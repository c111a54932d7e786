"""Every key of the configuration: its type, its default, and what it means."""

import inspect
import json
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAliasType, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from manual import comments
from supervisor.settings import alerting, dashboard, gate, governing, policies, pools, scheduling, tables, telemetry

#: what depends on who asks, and on which machine
WHERE = {
    "state_dir": "/var/lib/agent-supervisor for root, else $XDG_STATE_HOME/agent-supervisor",
    "socket": "/run/agent-supervisor/ctl.sock for root, else $XDG_RUNTIME_DIR/agent-supervisor/ctl.sock",
    "verify_slots": "half of the processors",
}
PRECEDENCE = (
    "A flag wins over the environment, the environment over the file. In the environment a key is `SUPERVISOR_` and "
    "its name, with two underscores for a dot: `SUPERVISOR_MNGR__WARM=false`; lists and tables are JSON."
)
#: each table under the name that it has in a file, in the order of a file
TABLES: dict[str, type[BaseModel]] = {
    "": tables.Settings,
    "[mngr]": tables.MngrTable,
    "[[pools]]": pools.PoolTable,
    "[profiles.NAME]": tables.ProfileTable,
    "integrate_at": tables.IntegrateAtTable,
    "[github]": tables.GitHubTable,
    "[keep]": tables.KeepTable,
    "[accounts.NAME]": governing.AccountTable,
    "[budget]": governing.BudgetTable,
    "[[prices]]": governing.PriceTable,
    "[[refusals]]": governing.RefusalTable,
    "[policy.FOLDER]": policies.PolicyTable,
    "[gate]": gate.GateTable,
    "[[gate.upstreams]]": gate.UpstreamTable,
    "[dashboard]": dashboard.DashboardTable,
    "[telemetry]": telemetry.TelemetryTable,
    "[[schedules]]": scheduling.ScheduleTable,
    "[[alerts]]": alerting.AlertTable,
    "[[webhooks]]": alerting.WebhookTable,
    "[mail]": alerting.MailTable,
}


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    kind: str
    default: str
    about: str


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    about: str
    keys: tuple[Key, ...]


def all_tables() -> tuple[Table, ...]:
    return tuple(
        Table(name, "" if not name else inspect.getdoc(cls) or "", _keys(cls)) for name, cls in TABLES.items()
    )


def _keys(cls: type[BaseModel]) -> tuple[Key, ...]:
    ours = (each for each in reversed(cls.__mro__) if each.__module__.startswith("supervisor."))
    told = {name: text for each in ours for name, text in comments.of(each).items()}
    return tuple(
        Key(name, kind(field.annotation), _default(name, field), told[name])
        for name, field in cls.model_fields.items()
        if name in WHERE or not _is_table(field.annotation)
    )


def _is_table(annotation: Any) -> bool:
    """One that has a section of its own; `integrate_at` is written on one line, and is a key as well."""
    inner = {annotation, *get_args(annotation)}
    own = {cls for name, cls in TABLES.items() if name.startswith("[")}
    return bool(inner & own)


def _default(name: str, field: FieldInfo) -> str:
    if name in WHERE:
        return WHERE[name]
    if field.is_required():
        return "required"
    value = field.default
    return "" if value is None else _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, BaseModel):
        return "{}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def kind(annotation: Any) -> str:
    """A type in a reader's words."""
    if isinstance(annotation, TypeAliasType):
        return _ALIASES.get(annotation.__name__) or kind(annotation.__value__)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return kind(inner[0])
    if origin is Literal:
        return " | ".join(f'"{each}"' for each in inner)
    if origin is UnionType:
        return " | ".join(kind(each) for each in inner if each is not NoneType)
    return _plain(annotation, origin)


def _plain(annotation: Any, origin: Any) -> str:
    if origin in _CONTAINERS:
        return _CONTAINERS[origin]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    return _NAMES.get(annotation, "text")


_ALIASES = {"Words": "list of texts", "Seconds": "seconds", "Duration": "duration", "AbsolutePath": "absolute path"}
_CONTAINERS = {tuple: "list of texts", dict: "table of texts"}
_NAMES = {bool: "true | false", int: "number", float: "number", str: "text"}
