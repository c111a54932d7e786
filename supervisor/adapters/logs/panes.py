"""The panes of this machine's agents, as mngr's tmux server has them: when they last changed, and what they show."""

import secrets
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from supervisor.adapters.private_tmux import PrivateTmux

DEADLINE_SECONDS = 5.0
SCROLLBACK = 1000
FORMAT = "#{@mngr_agent_id} #{pane_id} #{window_activity}"


@dataclass(frozen=True, slots=True)
class Pane:
    id: str
    #: by the second
    changed_at: float


class Panes:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment, self._server = dict(environment), PrivateTmux.of(environment)

    def all(self) -> dict[str, Pane]:
        """By agent; nothing where there is no server, or none that answers."""
        panes: dict[str, Pane] = {}
        for line in self._tmux("list-panes", "-a", "-F", FORMAT).splitlines():
            match line.split():
                case [agent, pane, changed] if changed.isdigit():
                    panes.setdefault(agent, Pane(pane, float(changed)))
        return panes

    def text(self, agent_id: str) -> str:
        """What is, and was, on its screen; lines that tmux had to wrap are whole."""
        pane = self.all().get(agent_id)
        return self._tmux("capture-pane", "-p", "-J", "-S", f"-{SCROLLBACK}", "-t", pane.id) if pane else ""

    def last_lines(self, agents: Collection[str]) -> dict[str, str]:
        """How their screens end: one process looks at all, and no screen knows where it ends."""
        panes, end = self.all() if agents else {}, secrets.token_hex(16)
        shown = [agent for agent in agents if agent in panes]
        words: list[str] = []
        for agent in shown:
            words += ["capture-pane", "-p", "-t", panes[agent].id, ";", "display-message", "-p", end, ";"]
        screens = self._tmux(*words).split(end) if words else []
        return {agent: screen.rstrip().rpartition("\n")[2] for agent, screen in zip(shown, screens, strict=False)}

    def _tmux(self, *words: str) -> str:
        try:
            argv = self._server.argv(*words)
            done = subprocess.run(
                argv, env=self._environment, capture_output=True, timeout=DEADLINE_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode(errors="replace") if done.returncode == 0 else ""
