"""Completion, in the shells that there are."""

from supervisor.e2e import E2e, expect
from supervisor.e2e.terminal import Terminal
from tests.e2e.supervisorctl.place import PATIENCE_SECONDS
from tests.e2e.supervisorctl.stage import Stage

#: the screen's text has no spaces at the ends of its lines
PROMPT = r"> *\Z"


def shell(e2e: E2e, comment: str) -> Terminal:
    """A person's shell, which has read the script."""
    bash = e2e.terminal("PS1='> ' bash --norc -i", comment=comment)
    bash.wait_text(PROMPT, PATIENCE_SECONDS)
    bash.send("source <(supervisorctl completion bash)\n")
    bash.wait_text(rf"bash\)\n{PROMPT}", PATIENCE_SECONDS)
    return bash


def leave(bash: Terminal) -> None:
    bash.press("Ctrl+U")
    bash.send("exit\n")
    expect(bash.wait()).to_succeed()


def test_in_this_shell(e2e: E2e, batch: str) -> None:
    """The Tab key completes verbs, and the ids of batches and jobs.

    Tutorial block:
        # verbs, options, and the ids of batches and jobs, in this shell
        source <(supervisorctl completion bash)
    """
    bash = shell(e2e, "in this shell")
    bash.send("supervisorctl reloa\t")
    bash.wait_text("supervisorctl reload", PATIENCE_SECONDS)
    bash.press("Ctrl+U")
    bash.send(f"supervisorctl job {batch[:3]}\t")
    bash.wait_text(f"supervisorctl job {batch}", PATIENCE_SECONDS)
    bash.press("Ctrl+U")
    bash.send("supervisorctl drain --dead\t")
    bash.wait_text("supervisorctl drain --deadline", PATIENCE_SECONDS)
    leave(bash)


def test_without_a_daemon(e2e: E2e, stage: Stage) -> None:
    """Verbs are completed all the same, ids are not, and nothing is said over what one types.

    Tutorial block:
        # verbs, options, and the ids of batches and jobs, in this shell
        source <(supervisorctl completion bash)
    """
    bash = shell(e2e, "without a daemon")
    bash.send("supervisorctl job k\t")
    bash.send("\x15supervisorctl reloa\t")
    bash.wait_text("supervisorctl reload", PATIENCE_SECONDS)
    expect(bash.screen).not_to_contain("error")
    leave(bash)


def test_in_every_shell(e2e: E2e, stage: Stage) -> None:
    """The script is where bash-completion looks for it, and bash can read it.

    Tutorial block:
        # in every shell from now on
        mkdir -p ~/.local/share/bash-completion/completions
        supervisorctl completion bash > ~/.local/share/bash-completion/completions/supervisorctl
    """
    written = e2e.run(
        """
        mkdir -p ~/.local/share/bash-completion/completions
        supervisorctl completion bash > ~/.local/share/bash-completion/completions/supervisorctl
        """,
        comment="in every shell",
    )
    expect(written).to_succeed()
    sourced = e2e.run("source ~/.local/share/bash-completion/completions/supervisorctl; complete -p supervisorctl")
    expect(sourced).to_succeed().stdout.to_contain("-F _supervisorctl_complete supervisorctl")


def test_other_shells(e2e: E2e, stage: Stage) -> None:
    """zsh and fish have scripts of their own kind; of a shell that has none, it is said.

    Tutorial block:
        # for zsh and fish
        mkdir -p ~/.zfunc ~/.config/fish/completions
        supervisorctl completion zsh > ~/.zfunc/_supervisorctl
        supervisorctl completion fish > ~/.config/fish/completions/supervisorctl.fish
    """
    written = e2e.run(
        """
        mkdir -p ~/.zfunc ~/.config/fish/completions
        supervisorctl completion zsh > ~/.zfunc/_supervisorctl
        supervisorctl completion fish > ~/.config/fish/completions/supervisorctl.fish
        """,
        comment="for zsh and fish",
    )
    expect(written).to_succeed()
    expect(e2e.home / ".zfunc" / "_supervisorctl").to_contain("#compdef supervisorctl")
    expect(e2e.home / ".config" / "fish" / "completions" / "supervisorctl.fish").to_contain("complete -c $name")
    expect(e2e.run("supervisorctl completion tcsh")).to_have_exit_code(2).stderr.to_contain("tcsh")
