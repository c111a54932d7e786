"""The configuration of a drill: the pools that were judged, and for each of them profiles that use no other."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from supervisor.errors import SupervisorError
from supervisor.rehearsal.drill.repository import TOOLS
from supervisor.settings import Settings, resolve
from supervisor.settings.pools import PoolTable

#: of each pool: the drill needs two at a time at the most
SLOTS = 2
#: what the agent of each part of the drill does; in the life, its claim is verified
PARTS: Mapping[str, tuple[str, ...]] = {
    "life": ("--scenario", "improve"),
    "agent": ("--scenario", "killed"),
    "call": ("--scenario", "improve"),
    "daemon": ("--scenario", "improve", "--work", "5"),
}
PROFILE = {
    "agent": "rehearsal",
    "keep_agents": "none",
    "integrator": False,
    "survey": "none",
    "evidence_factor": 0,
    "breaker_jobs": 0,
    "env": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    "job_timeout_seconds": 120,
    "stall_timeout_seconds": 60,
    "test_timeout_seconds": 30,
}


def profile_of(pool: str, part: str) -> str:
    return f"{pool}-{part}"


def written(judged: Settings, folder: Path) -> str:
    """As TOML: values of JSON are values of TOML, but for tables and nothing."""
    top = {"state_dir": str(folder / "state"), "socket": str(folder / "ctl.sock"), "verify_slots": 2}
    mngr = judged.mngr
    calls = {
        "command": mngr.command,
        "warm": mngr.warm,
        "call_timeout_seconds": mngr.call_timeout_seconds,
        "create_timeout_seconds": mngr.create_timeout_seconds,
        "home": str(folder / "home"),
        "list_seconds": 2,
    }
    lines = [*_pairs(top), "[mngr]", *_pairs(calls)]
    for pool in judged.pools:
        lines += ["[[pools]]", *_pairs(_pool(pool))]
        for part, args in PARTS.items():
            profile = _profile(judged, pool, part) | {"agent_args": list(args)}
            lines += [f"[profiles.{json.dumps(profile_of(pool.name, part))}]", *_pairs(profile)]
    return "\n".join(lines) + "\n"


def _pool(pool: PoolTable) -> dict[str, Any]:
    kept: dict[str, Any] = pool.model_dump(mode="json", exclude_none=True)
    return kept | {"slots": SLOTS}


def _profile(judged: Settings, pool: PoolTable, part: str) -> dict[str, Any]:
    here = pool.provider == "local"
    pytest = [sys.executable if here else "python3", "-m", "pytest", "-q"]
    more = {"pools": [pool.name], "pytest": pytest, "python_path": [] if here else [TOOLS]}
    judging = {"verify_pools": _verify_pools(judged, pool)} if part == "life" else {"verify_runs": 0}
    return PROFILE | more | judging


def _verify_pools(judged: Settings, pool: PoolTable) -> list[str]:
    """Where the claims of this pool are verified by the first profile that uses it."""
    known = {each.name for each in judged.pools}
    for name in ("default", *judged.profiles):
        try:
            profile = resolve(judged, name)
        except SupervisorError:
            continue
        if pool.name in profile.pools:
            return [each for each in profile.verify_pools if each in known]
    return []


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield f"{key} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(_pairs(value))} }}"
    # TOML knows no surrogate pairs, and forbids this one character that JSON does not escape.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
