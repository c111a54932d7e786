"""Agents that are kept for a person to look at: lists them, and destroys them after their retention time.

An agent is destroyed only if this loses nothing: each commit of its clone is in a ref of ours, and its files equal
those of such a commit; this is checked on its host. Any other agent stays for the person, and is reported.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.adapters.git import housekeeping
from supervisor.errors import DeviceFailed
from supervisor.ports import BATCH, INSTALLATION, KEPT, UNSAVED, WALLS, AgentAddress, Agents, SeenAgent

LOOK_SECONDS = 120.0
#: The files are put into an index of their own, so that the clone stays as it is. Caches are nobody's work.
LOOK = r"""cd "${MNGR_AGENT_WORK_DIR:-.}" && cd "$(git rev-parse --show-toplevel)" || exit 1
unset $(git rev-parse --local-env-vars)
export GIT_OPTIONAL_LOCKS=0 GIT_NO_REPLACE_OBJECTS=1 GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=core.hooksPath
export GIT_CONFIG_VALUE_0=/dev/null GIT_CONFIG_KEY_1=core.fsmonitor GIT_CONFIG_VALUE_1=false
head=$(git rev-parse -q --verify 'HEAD^{commit}') || exit 1
echo "tip $head"; echo "head $(git rev-parse "$head^{tree}")"
[ "$(git rev-parse --git-dir)" != "$(git rev-parse --git-common-dir)" ] ||
  git for-each-ref --format='tip %(objectname)' refs/heads refs/stash
folder=$(mktemp -d) && export GIT_INDEX_FILE="$folder/index" && git read-tree "$head" &&
  git add -A -- . ':(exclude,glob)**/__pycache__/**' ':(exclude,glob)**/*.pyc' ':(exclude,glob)**/.pytest_cache/**' \
    ':(exclude,glob)**/.hypothesis/**' ':(exclude,glob)**/.mypy_cache/**' ':(exclude,glob)**/.ruff_cache/**' &&
  echo "files $(git write-tree)"; rm -rf "$folder"; echo looked"""

#: git obeys the clone's configuration, which an agent could write to: where it had walls, git has them as well.
LOOK_WITHIN = f"""if [ -n "${{{WALLS}:-}}" ]; then eval "exec ${WALLS}" sh -c {shlex.quote(shlex.quote(LOOK))}; fi
{LOOK}"""


@dataclass(slots=True)
class Kept:
    """The kept agents of this installation, and the problems of their providers' listings."""

    by_batch: dict[str, list[SeenAgent]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class KeptAgents:
    def __init__(self, agents: Agents, installation: str, providers: Iterable[str]) -> None:
        self._agents, self._installation, self._providers = agents, installation, sorted({"local", *providers})

    async def all(self) -> Kept:
        kept = Kept()
        for provider in self._providers:
            try:
                listing = await self._agents.list(provider)
            except DeviceFailed as failed:
                kept.problems.append(failed.message)
                continue
            kept.problems += listing.problems
            for agent in listing.agents:
                if agent.labels.get(INSTALLATION) == self._installation and KEPT in agent.labels:
                    kept.by_batch.setdefault(agent.labels.get(BATCH, ""), []).append(agent)
        return kept

    async def put_away(self, bare: Path, batch: str, agent: SeenAgent) -> str:
        """Destroy the agent if that loses nothing. Returns why it stays; "": it is gone."""
        if agent.labels.get(KEPT) == UNSAVED:
            return f"the agent {agent.name} has work that could not be brought home: it is kept"
        try:
            if not await self._is_safe(bare, batch, agent.address):
                return f"the agent {agent.name} has work that no ref of batch {batch} holds: it is kept"
            await self._agents.destroy([agent.address])
        except DeviceFailed as failed:
            return f"the agent {agent.name} can't be put away: {failed.message}"
        return ""

    async def _is_safe(self, bare: Path, batch: str, address: AgentAddress) -> bool:
        said = (await self._agents.exec(address, LOOK_WITHIN, timeout=LOOK_SECONDS)).stdout.split("\n")
        told = [words for line in said if len(words := line.split()) == 2]
        tips = {sha for word, sha in told if word == "tip"}
        head = {tree for word, tree in told if word == "head"}
        files = {tree for word, tree in told if word == "files"}
        if "looked" not in said or not tips or len(files) != 1:
            return False
        if not files <= (head | await housekeeping.trees(bare, batch)):
            return False
        return all([await housekeeping.holds(bare, batch, tip) for tip in sorted(tips)])
