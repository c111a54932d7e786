"""The kinds of agents, in one place each. A sixth one is a module here and a line in `KINDS` (docs/agents.md)."""

from collections.abc import Collection, Mapping
from pathlib import Path

from supervisor.kinds.claude import Claude
from supervisor.kinds.codex import Codex
from supervisor.kinds.command import Command
from supervisor.kinds.kind import Kind, Start, Transcript
from supervisor.kinds.opencode import OpenCode
from supervisor.kinds.rehearsal import Rehearsal

__all__ = ["KINDS", "Kind", "Start", "Transcript", "kind_of", "who_writes"]

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
    """By the agent type of a profile; a type of mngr's that is not known here has what all have."""
    return KINDS.get(agent) or Kind(agent)


def who_writes(folder: Path, known: Collection[str] = ()) -> tuple[Kind, Transcript] | None:
    """The kind whose own transcript is below an agent's state directory, or was: a type that somebody derived from it
    writes the same. Not one whose lines were taken from what mngr made of them before; they would be there twice."""
    for kind in KINDS.values():
        if (told := kind.transcript) is not None:
            is_here = told.own in known or told.path(folder).exists()
            if is_here and (told.own in known or told.converted not in known):
                return kind, told
    return None
