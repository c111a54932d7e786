"""How long a pool's new hosts live, as far as its build arguments and mngr's settings tell.

A host that ends takes its agents with it. The backends of mngr that end a host at some age are listed here; for any
other backend the lifetime is unknown. Their idle timeouts do not matter, because each create sets one (`order`).
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil
from pathlib import Path
from typing import Any

from supervisor.flow.slots import seconds_of_host
from supervisor.settings import Settings, resolve
from supervisor.settings.pools import PoolTable
from supervisor.settings.tables import ProfileTable

type Tables = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Age:
    """How a backend is configured with the age at which a new host ends."""

    #: the key under `[providers.NAME]` of mngr's settings
    key: str
    #: the build argument that overrides it; "": none
    argument: str = ""
    #: the age if neither is set; 0: the host does not end
    default: float = 0.0


@dataclass(frozen=True, slots=True)
class TooShort:
    message: str
    hint: str


#: by backend, as of mngr 0.3
AGES: Mapping[str, Age] = {
    "modal": Age("default_sandbox_timeout", "timeout", default=900.0),
    **dict.fromkeys(("aws", "azure", "gcp", "ovh", "vultr"), Age("auto_shutdown_seconds")),
}


def lifetimes(settings: Settings) -> dict[str, float]:
    """By pool: how many seconds its new hosts live. Omits pools without new hosts or without a known limit."""
    tables = provider_tables(settings.mngr_home)
    found = {pool.name: _lifetime(pool, tables) for pool in settings.pools if not pool.hosts}
    return {name: seconds for name, seconds in found.items() if seconds}


def too_short(settings: Settings) -> Iterator[TooShort]:
    """Each pool of a profile whose hosts may end before an agent's time limit."""
    lives, pools = lifetimes(settings), {pool.name: pool for pool in settings.pools}
    unsaid = {"default"} if set(ProfileTable().pools) <= set(pools) else set()
    for name in sorted(unsaid | set(settings.profiles)):
        profile = resolve(settings, name)
        needed = seconds_of_host(profile, profile.job_timeout_seconds)
        for pool in (pools[each] for each in profile.pools if lives.get(each, needed) < needed):
            yield TooShort(
                f"profile {name} gives an agent {profile.job_timeout_seconds:g} s; with its launch, its tests and "
                f"its leaving it may need its host for {needed:g} s, but new hosts of pool {pool.name} end after "
                f"{lives[pool.name]:g} s",
                _remedy(pool, provider_tables(settings.mngr_home), needed),
            )


def _remedy(pool: PoolTable, tables: Tables | None, needed: float) -> str:
    """Twice what is needed, in full hours: a host that lives just long enough for one agent can't serve a second."""
    age, hours = AGES[_backend(pool.provider, tables)], ceil(2 * needed / 3600)
    in_mngr = f"`{age.key} = {hours * 3600}` under [providers.{pool.provider}] of mngr's settings"
    ours = f'`build_args = ["--{age.argument}={hours * 3600}"]` for the pool'
    return f"set {ours}, or {in_mngr}" if age.argument else f"set {in_mngr}"


def _lifetime(pool: PoolTable, tables: Tables | None) -> float:
    """0: unknown or unlimited."""
    if (age := AGES.get(_backend(pool.provider, tables))) is None:
        return 0.0
    said = _argument(pool.build_args, age.argument) if age.argument else None
    if said is None and tables is None:
        return 0.0
    if said is None:
        said = (tables or {}).get(pool.provider, {}).get(age.key, age.default)
    try:
        return max(0.0, float(said))
    except (TypeError, ValueError):
        return 0.0


def _backend(provider: str, tables: Tables | None) -> str:
    return str((tables or {}).get(provider, {}).get("backend", provider))


def _argument(words: tuple[str, ...], name: str) -> str | None:
    """mngr accepts `--name=value`, `name=value`, and the value as a separate word; the last one counts."""
    said = None
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        key, equals, value = word.removeprefix("--").partition("=")
        if key == name:
            said = value if equals else following
    return said


def provider_tables(home: Path) -> Tables | None:
    """`[providers.…]` of the settings that mngr has under this HOME; None if they can't be read."""
    root = home / ".mngr"
    try:
        profile = _toml(root / "config.toml").get("profile", "")
        tables = _toml(root / "profiles" / str(profile) / "settings.toml").get("providers", {})
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return None
    return {name: table for name, table in tables.items() if isinstance(table, dict)}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
