"""`config check` and `config show`: check a configuration and show its effective values, without a daemon."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supervisor.cli import session
from supervisor.cli.arguments import with_common_options
from supervisor.errors import Misconfigured

if TYPE_CHECKING:
    from supervisor.settings import Settings

app = typer.Typer(
    name="config",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

FILE = typer.Argument(metavar="FILE", help="By default, the usual one.", show_default=False)
#: fields of a profile that are not configuration keys, or whose key has another name
OTHERWISE = {"name", "pytest_args", "integrate_share", "integrate_after_seconds"}


@app.callback()
@with_common_options
def config() -> None:
    """Show the configuration, or check that it is valid."""


@app.command()
@with_common_options
def check(ctx: typer.Context, file: Annotated[Path | None, FILE] = None) -> None:
    """Check that a daemon could start with this configuration.

    Example: supervisorctl config check config.toml
    """
    from supervisor.settings import load

    here = session.of(ctx)
    settings = load(file)
    _refuse_short_lives(settings)
    pools = ", ".join(f"{pool.name} ({pool.slots} slots)" for pool in settings.pools)
    profiles = ", ".join(sorted({"default", *settings.profiles}))
    text = f"the configuration is valid; pools: {pools}; profiles: {profiles}"
    warnings = _warnings(settings)
    here.show(
        {"schema_version": 1, "ok": True, "warnings": warnings},
        "\n".join([text, *(f"warning: {each}" for each in warnings)]),
    )


@app.command()
@with_common_options
def show(
    ctx: typer.Context,
    file: Annotated[Path | None, FILE] = None,
    origin: Annotated[bool, typer.Option("--origin", help="Show where each value comes from.")] = False,
) -> None:
    """Show every key with its value, and the profiles with all that they inherit.

    Example: supervisorctl config show --origin
    """
    from supervisor.settings import load, origins, resolve

    here = session.of(ctx)
    settings = load(file)
    data = settings.model_dump(mode="json", exclude={"profiles"})
    data["mngr"] |= {"home": str(settings.mngr_home), "tmux_tmpdir": str(settings.tmux_tmpdir)}
    names = sorted({"default", *settings.profiles})
    for name in names:
        profile = resolve(settings, name)
        fields = (field for field in profile.__dataclass_fields__ if field not in OTHERWISE)
        early = {"share": profile.integrate_share, "after": profile.integrate_after_seconds}
        shown = {field: getattr(profile, field) for field in fields}
        shown["integrate_at"] = {key: value for key, value in early.items() if value}
        data.setdefault("profiles", {})[name] = shown
    found = origins(file) if origin else {}
    lines = [f"{key} = {json.dumps(value)}" for key, value in _flat(data)]
    if origin:
        lines = [f"{line}    # {_origin(line.partition(' = ')[0], found)}" for line in lines]
    content = {"schema_version": 1, "config": data} | ({"origins": found} if origin else {})
    here.show(content, "\n".join(lines))


def _origin(key: str, origins: dict[str, str]) -> str:
    """The source that sets the longest prefix of the key; values that a profile inherits have other sources."""
    parts = key.split(".")
    named = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((origins[name] for name in named if name in origins), "default or inherited")


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in table.items():
        flat += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) and value else [(prefix + key, value)]
    return flat


def _warnings(settings: "Settings") -> list[str]:
    from supervisor.adapters.telemetry.extra import HINT, MISSING, is_missing
    from supervisor.cli.doctor_walls import unwalled_profiles

    return [*([f"{MISSING}; {HINT}"] if is_missing(settings) else []), *unwalled_profiles(settings)]


def _refuse_short_lives(settings: "Settings") -> None:
    from supervisor.adapters.mngr.lifetimes import too_short

    if found := list(too_short(settings)):
        more = f" (and {len(found) - 1} more)" if found[1:] else ""
        raise Misconfigured(f"{found[0].message}{more}", hint=found[0].hint)
