"""The kinds of agents, one module each. A new kind is a module here and a line in `KINDS` (docs/agents.md)."""

from collections.abc import Collection, Mapping
from pathlib import Path

from supervisor.kinds.claude import Claude
from supervisor.kinds.codex import Codex
from supervisor.kinds.command import Command
from supervisor.kinds.kind import Kind, Start, Transcript
from supervisor.kinds.opencode import OpenCode
from supervisor.kinds.rehearsal import Rehearsal
from supervisor.model.profile import Profile

__all__ = ["KINDS", "Kind", "Start", "Transcript", "kind_of", "unwalled", "who_writes"]

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Claude("claude"),
        Codex("codex"),
        OpenCode("opencode"),
        Command("command"),
        Rehearsal("rehearsal"),
    )
}


def kind_of(agent: str) -> Kind:
    """The kind of a profile's agent type; an mngr type that is not known here gets the defaults of `Kind`."""
    return KINDS.get(agent) or Kind(agent)


def unwalled(profile: Profile) -> str:
    """Why agents of this profile can't have the walls that it wants, on any machine; "" if they can."""
    if profile.agent_walls == "off":
        return ""
    if not kind_of(profile.agent).has_walls:
        return f"agents of the kind {profile.agent} can't have walls yet"
    if profile.transfer != "git-mirror":
        return f'with transfer = "{profile.transfer}" its agents share a repository'
    return ""


def who_writes(folder: Path, known: Collection[str] = ()) -> tuple[Kind, Transcript] | None:
    """The kind whose own transcript is, or was, below an agent's state directory; so a type derived from a kind is
    recognised too. Not a kind whose converted transcript was read before: its lines would be logged twice."""
    for kind in KINDS.values():
        if (told := kind.transcript) is not None:
            is_here = told.own in known or told.path(folder).exists()
            if is_here and (told.own in known or told.converted not in known):
                return kind, told
    return None
