"""`completion`: completion scripts for shells. They call `supervisorctl complete`, which gets candidates from click.

We do not use typer's scripts: they are slower (twice as long per Tab in zsh; four times in fish, which runs the
program twice), evaluate the program's output in zsh, and support only one command name.
"""

from enum import StrEnum
from typing import Annotated, Any

import typer
from typer import completion as engine

NAMES = ("supervisorctl", "agent-supervisorctl")
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
    """Print a script that makes a shell complete verbs, options, batches and jobs.

    Example: supervisorctl completion bash > supervisorctl.bash
    """
    script = {Shell.BASH: BASH, Shell.ZSH: ZSH, Shell.FISH: FISH}[shell]
    print(script.format(function="supervisorctl_complete", names=" ".join(NAMES)), end="")


def complete(ctx: typer.Context) -> None:
    """Print candidates for the last word after `--`, one per line; none where a file name is expected."""
    *before, last = ctx.meta.get("rest") or [""]
    if "--" in before:
        return  # an argument for pytest
    engine.completion_init()  # type: ignore[attr-defined]
    click: Any = engine.shell_completion  # type: ignore[attr-defined]  # typer carries its own click
    candidates = click.get_completion_class("bash")(ctx.find_root().command, {"obj": ctx.obj}, NAMES[0], "")
    print("\n".join(item.value for item in candidates.get_completions(before, last)))
