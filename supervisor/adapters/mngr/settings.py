"""The settings of this device, and the one environment that every mngr call gets."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: What mngr, tmux, git and ssh need of the daemon's environment. Nothing else is passed on: the first `create` starts
#: the tmux server, and every local agent inherits that process's environment.
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_RUNTIME_DIR")


@dataclass(frozen=True, slots=True)
class MngrSettings:
    """Home, tmux directory and working directory must stay the same across restarts, or live agents look gone."""

    home: Path
    tmux_tmpdir: Path
    #: mngr reads project settings from here; it also holds the files of running calls
    cwd: Path
    command: str = "mngr"
    #: more variables for mngr itself; local agents can see them
    env: Mapping[str, str] = field(default_factory=dict)
    warm: bool = True
    call_timeout: float = 60.0
    create_timeout: float = 600.0
    max_output_bytes: int = 16 * 2**20
    max_pulled_file_bytes: int = 512 * 2**20

    @property
    def host_dir(self) -> Path:
        return self.home / ".mngr"

    @property
    def by_hand(self) -> str:
        """For a person to type: mngr with the same home and tmux server as the daemon's calls."""
        places = (f"HOME={self.home}", f"TMUX_TMPDIR={self.tmux_tmpdir}")
        return " ".join([*map(shlex.quote, places), shlex.quote(self.command)])

    def environment(self) -> dict[str, str]:
        passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        path = {**passed, **self.env}.get("PATH", os.defpath)
        if os.sep in self.command:  # `observe` itself looks up `mngr` on the PATH
            path = f"{os.path.dirname(self.command)}:{path}"  # noqa: PTH120
        return {
            "LANG": "C.UTF-8",
            **passed,
            **self.env,
            "PATH": path,
            "HOME": str(self.home),
            "TMUX_TMPDIR": str(self.tmux_tmpdir),
            "MNGR_HEADLESS": "1",
        }
