"""`completion`: scripts for shells. They ask `supervisorctl complete`, which asks the daemon for ids if need be."""

from enum import StrEnum
from typing import Annotated

import typer

from supervisor.cli import session
from supervisor.control.client import Client
from supervisor.errors import SupervisorError

NAMES = ("supervisorctl", "agent-supervisorctl")
#: verbs that take a batch or a job
OF_BATCHES = {
    *("status", "jobs", "job", "logs", "events", "follow", "report", "work", "wait"),
    *("cancel", "retry", "integrate", "pause", "resume"),
}
#: an answer that takes longer is of no use to who types
QUICK_SECONDS = 1.0

BASH = """\
_{function}() {{
    local IFS=$'\\n'
    COMPREPLY=($("$1" complete -- "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null))
}}
complete -o default -F _{function} {names}
"""
ZSH = """\
#compdef {names}
_{function}() {{
    local -a found
    found=("${{(@f)$($words[1] complete -- "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
    [[ -n "$found" ]] && compadd -- $found || _files
}}
compdef _{function} {names}
"""
FISH = """\
function _{function}
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete -- $words[2..-1] 2>/dev/null
end
for name in {names}
    complete -c $name -a '(_{function})'
end
"""


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print what makes a shell complete verbs, options, batches and jobs.

    Example: supervisorctl completion bash > supervisorctl.bash
    """
    script = {Shell.BASH: BASH, Shell.ZSH: ZSH, Shell.FISH: FISH}[shell]
    print(script.format(function="supervisorctl_complete", names=" ".join(NAMES)), end="")


def complete(ctx: typer.Context) -> None:
    """Candidates for the last of the words after `--`, one a line."""
    *before, last = ctx.meta.get("rest") or [""]
    root = ctx.find_root()
    verb = before[0] if before else ""
    if not verb:
        candidates = root.command.list_commands(root)  # type: ignore[attr-defined]
    elif last.startswith("-"):
        command = root.command.get_command(root, verb)  # type: ignore[attr-defined]
        candidates = (
            [name for param in command.params for name in param.opts if name.startswith("--")] if command else []
        )
    else:
        candidates = _ids(verb, last, Client((ctx.obj.socket or session.socket_path()), timeout=QUICK_SECONDS))
    print("\n".join(word for word in candidates if word.startswith(last)))


def _ids(verb: str, last: str, client: Client) -> list[str]:
    if verb not in OF_BATCHES:
        return []
    try:
        batch, dot, _ = last.partition(".")
        if dot:
            return [row["id"] for row in client.get(f"/v1/batches/{batch}/jobs")["rows"]]
        ids = [row["id"] for row in client.get("/v1/batches", limit=50)["rows"]]
        return [f"{each}." if verb in ("job", "logs") else each for each in ids]
    except SupervisorError:
        return []
