"""Signs of life of this machine's agents: one question to mngr's tmux server, and the kernel's list of children.

mngr types an agent's command into a shell in a pane; when that shell has no child, the program is gone. A shell that
was just started may not have run the command yet, so a program that was never seen gets some patience.
"""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from supervisor.adapters.private_tmux import PrivateTmux
from supervisor.adapters.process import run

#: A program that was never seen alive is missed only after this long.
PATIENCE_SECONDS = 1.5
DEADLINE_SECONDS = 5.0


class TmuxSigns:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment, self._tmux = dict(environment), PrivateTmux.of(environment)
        self._seen: set[str] = set()
        self._asked_since: dict[str, float] = {}

    async def missing(self, agent_ids: Iterable[str]) -> set[str]:
        wanted, now = set(agent_ids), time.monotonic()
        self._seen &= wanted
        self._asked_since = {agent: self._asked_since.get(agent, now) for agent in wanted}
        panes = await self._panes()
        if panes is None:
            return set()
        missing = set()
        for agent in wanted:
            if (pid := panes.get(agent)) is not None and _has_child(pid):
                self._seen.add(agent)
            elif agent in self._seen or now - self._asked_since[agent] > PATIENCE_SECONDS:
                missing.add(agent)
        return missing

    async def share_our_fate(self) -> bool:
        """Whether agents end with our control group: their tmux server is in it, or would be started there."""
        if (said := await self._ask("display-message", "-p", "#{pid}")) is None:
            return False
        pid = said.strip()
        return not pid.isdigit() or _control_group(pid) == _control_group("self")

    async def _panes(self) -> dict[str, int] | None:
        """The shell's process id of each agent; empty if there is no server; None: unknown."""
        output = await self._ask("list-panes", "-a", "-F", "#{@mngr_agent_id} #{pane_pid} #{pane_dead}")
        if output is None:
            return None
        panes: dict[str, int] = {}
        for line in output.splitlines():
            match line.split():
                case [agent, pid, "0"] if pid.isdigit() and agent not in panes:
                    panes[agent] = int(pid)
        return panes

    async def _ask(self, *words: str) -> str | None:
        """The server's response, which is empty if there is no server; None: unknown."""
        try:
            done = await run(self._tmux.argv(*words), env=self._environment, timeout=DEADLINE_SECONDS, grace=0.0)
        except OSError:  # it can't be started, or does not answer
            return None
        return done.out.decode(errors="replace")


def _control_group(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return ""


def _has_child(pid: int) -> bool:
    try:
        return bool(Path(f"/proc/{pid}/task/{pid}/children").read_text().strip())
    except OSError:
        return False
