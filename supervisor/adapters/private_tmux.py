"""tmux servers of our own, addressed by the path of their socket, so that a user's own tmux server is left alone.

tmux connects to the server that TMUX names, whatever TMUX_TMPDIR is; and if TMUX_TMPDIR is not a directory, to the
user's usual server in /tmp. So every call of ours names the socket, and no process of ours inherits TMUX or
TMUX_PANE.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

#: the variables by which a process finds the server in whose pane it runs
NAMES = ("TMUX", "TMUX_PANE")
DEADLINE_SECONDS = 20.0


def leave_the_users_tmux() -> None:
    """Call this at the start of a program: it and its children then ignore a tmux that it was started in."""
    for name in NAMES:
        os.environ.pop(name, None)


@dataclass(frozen=True, slots=True)
class PrivateTmux:
    socket: Path

    @classmethod
    def below(cls, folder: Path) -> "PrivateTmux":
        """The server of programs with this folder as TMUX_TMPDIR, such as mngr."""
        return cls(folder.resolve() / f"tmux-{os.getuid()}" / "default")

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "PrivateTmux":
        """The server of a program with this environment. Without TMUX_TMPDIR that is none, and never the user's."""
        return cls.below(Path(environment.get("TMUX_TMPDIR", os.devnull)))

    def argv(self, *words: str) -> list[str]:
        return ["tmux", "-S", str(self.socket), *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The first command makes the server: it has no configuration, and nothing of the user's tmux."""
        self.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        environment = {name: value for name, value in os.environ.items() if name not in NAMES}
        return subprocess.run(
            self.argv("-u", "-f", os.devnull, *words),
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=DEADLINE_SECONDS,
            check=False,
        )

    def end(self) -> None:
        """End the server, if there is one, with all that runs in its panes."""
        if self.socket.exists():
            self.run("kill-server")
