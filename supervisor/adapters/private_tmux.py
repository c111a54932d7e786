"""tmux servers of our own, known by the path of their socket: whoever runs us inside tmux keeps theirs.

tmux goes to the server that TMUX names, whatever TMUX_TMPDIR says; and where TMUX_TMPDIR names no directory, to the
user's usual server in /tmp. So every call of ours names the socket, and nothing of ours inherits TMUX or TMUX_PANE.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

#: by these a process finds the server in whose pane it runs
NAMES = ("TMUX", "TMUX_PANE")
DEADLINE_SECONDS = 20.0


def leave_the_users_tmux() -> None:
    """For the start of a program: neither it nor what it starts knows of a tmux that it was started in."""
    for name in NAMES:
        os.environ.pop(name, None)


@dataclass(frozen=True, slots=True)
class PrivateTmux:
    socket: Path

    @classmethod
    def below(cls, folder: Path) -> "PrivateTmux":
        """The server of those who have this folder as TMUX_TMPDIR, as mngr does."""
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
        """With all that runs in its panes. None there is fine."""
        if self.socket.exists():
            self.run("kill-server")
