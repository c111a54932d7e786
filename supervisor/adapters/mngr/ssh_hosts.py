"""The ssh hosts of remote pools, from mngr's settings, and whether they can verify work that is done there."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from supervisor.adapters.mngr.lifetimes import provider_tables
from supervisor.settings import Settings

SECONDS = 15.0
OLDEST = (3, 11)
_LOOK = "python3 -c 'import sys; print(*sys.version_info[:2])' || echo; git --version"


@dataclass(frozen=True, slots=True)
class Looked:
    pool: str
    host: str
    #: what is missing there; "": nothing
    missing: str = ""
    #: why the host can't be checked
    unseen: str = ""


def looked_at(settings: Settings) -> Iterator[Looked]:
    """Each host of each pool whose provider is mngr's ssh. Blocks for seconds when a host does not answer."""
    tables = provider_tables(settings.mngr_home) or {}
    for pool in settings.pools:
        table = tables.get(pool.provider, {})
        known = table.get("hosts", {})
        if table.get("backend") == "ssh" and isinstance(known, dict):
            yield from (_looked_at(pool.name, name, known[name]) for name in pool.hosts if name in known)


def _looked_at(pool: str, name: str, host: Mapping[str, Any]) -> Looked:
    try:
        done = subprocess.run(
            [*_ssh(host), _LOOK],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=os.environ,
        )
    except (OSError, subprocess.SubprocessError):
        return Looked(pool, name, unseen="it does not answer")
    if done.returncode == 255:  # ssh itself failed
        last = " ".join(done.stderr.strip().splitlines()[-1:])
        return Looked(pool, name, unseen=last[:200] or "it can't be reached")
    python, git = (*done.stdout.splitlines(), "", "")[:2]
    lacks = [] if _is_new_enough(python) else [f"a python3 of {'.'.join(map(str, OLDEST))} or newer"]
    lacks += [] if git.startswith("git version") else ["git"]
    return Looked(pool, name, missing=" and ".join(lacks))


def _ssh(host: Mapping[str, Any]) -> list[str]:
    options = {"BatchMode": "yes", "ConnectTimeout": "10"}
    if known := host.get("known_hosts_file"):
        options |= {"UserKnownHostsFile": str(known), "StrictHostKeyChecking": "yes"}
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    words += ["-i", str(host["key_file"])] if host.get("key_file") else []
    words += ["-l", str(host["user"])] if host.get("user") else []
    return ["ssh", *words, "-p", str(host.get("port", 22)), "--", str(host.get("address", ""))]


def _is_new_enough(said: str) -> bool:
    try:
        return tuple(map(int, said.split())) >= OLDEST
    except ValueError:
        return False
