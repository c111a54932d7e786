"""The environment of a command under test: built from scratch, so that it is the same on every machine."""

import os
import shutil
import sysconfig
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# What a command needs from this machine to find its tools; everything else is fixed below.
INHERITED = ("PATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR")
COLUMNS, LINES = 120, 40


@dataclass(frozen=True, slots=True)
class Home:
    """The private directories of one test. The path is short: sockets below it must fit in 108 bytes."""

    root: Path

    @classmethod
    def make(cls) -> "Home":
        home = cls(Path(tempfile.mkdtemp(prefix="e2e-")))
        for directory in (home.home, home.work, home.tmp, home.runtime):
            directory.mkdir(mode=0o700)
        return home

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    @property
    def runtime(self) -> Path:
        return self.root / "run"

    def remove(self) -> None:
        for parent, names, _ in os.walk(self.root):
            for directory in (Path(parent, name) for name in names):
                if not directory.is_symlink():
                    directory.chmod(0o700)  # a test may have removed its own permissions
        shutil.rmtree(self.root, ignore_errors=True)


def environment(home: Home, extra_names: Iterable[str] = ()) -> dict[str, str]:
    """The variables of a command: from the developer's environment only INHERITED and `extra_names`."""
    inherited = {name: os.environ[name] for name in (*INHERITED, *extra_names) if name in os.environ}
    return inherited | {
        "PATH": _with_own_programs(inherited.get("PATH", os.defpath)),
        "HOME": str(home.home),
        "TMPDIR": str(home.tmp),
        "XDG_CONFIG_HOME": str(home.home / ".config"),
        "XDG_DATA_HOME": str(home.home / ".local/share"),
        "XDG_STATE_HOME": str(home.home / ".local/state"),
        "XDG_CACHE_HOME": str(home.home / ".cache"),
        "XDG_RUNTIME_DIR": str(home.runtime),
        "TMUX_TMPDIR": str(home.runtime),
        "USER": "e2e",
        "LOGNAME": "e2e",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "LINES": str(LINES),
        "PAGER": "cat",
        "PYTHONHASHSEED": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "e2e",
        "GIT_AUTHOR_EMAIL": "e2e@example.invalid",
        "GIT_COMMITTER_NAME": "e2e",
        "GIT_COMMITTER_EMAIL": "e2e@example.invalid",
    }


def _with_own_programs(path: str) -> str:
    """Put pytest's own bin directory on PATH, so that tools installed there are found without activation."""
    own = sysconfig.get_path("scripts")
    return path if own in path.split(os.pathsep) else f"{own}{os.pathsep}{path}"
