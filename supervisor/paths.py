"""Default paths: system directories for root, XDG directories for everybody else."""

import os
from pathlib import Path

NAME = "agent-supervisor"
SYSTEM_SOCKET = Path("/run") / NAME / "ctl.sock"


def config_file() -> Path:
    return Path("/etc") / NAME / "config.toml" if _is_root() else _xdg("XDG_CONFIG_HOME", ".config") / "config.toml"


def state_dir() -> Path:
    return Path("/var/lib") / NAME if _is_root() else _xdg("XDG_STATE_HOME", ".local/state")


def socket() -> Path:
    if _is_root():
        return SYSTEM_SOCKET
    return (_xdg("XDG_RUNTIME_DIR", "") if os.environ.get("XDG_RUNTIME_DIR") else state_dir()) / "ctl.sock"


def _is_root() -> bool:
    return os.geteuid() == 0


def _xdg(variable: str, below_home: str) -> Path:
    base = os.environ.get(variable)
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / below_home) / NAME


def credentials_directory() -> Path | None:
    """The directory of the service's systemd credentials: the daemon can read it, its children do not inherit it."""
    found = os.environ.get("CREDENTIALS_DIRECTORY")
    return Path(found) if found else None
