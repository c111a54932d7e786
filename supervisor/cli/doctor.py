"""`doctor`: whether this machine has what it takes, each with what to do if not."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from supervisor.cli import printing, session
from supervisor.errors import SupervisorError

if TYPE_CHECKING:
    from supervisor.settings import Settings

MNGR_SECONDS, TOOL_SECONDS = 60.0, 10.0
#: what claude logs in with, of its environment; and what makes it ask nobody
LOGINS, SKIPS = (
    {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
    "--dangerously-skip-permissions",
)
_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    state: Literal["ok", "warning", "problem"]
    message: str
    hint: str = ""


def doctor(
    ctx: typer.Context,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="The daemon's configuration.")] = None,
) -> None:
    """Look at all that agents and the daemon need. Exits 1 when something is missing.

    Example: supervisorctl doctor
    """
    from supervisor.settings import load

    here = session.of(ctx)
    settings = load(config)
    findings = [found for look in _LOOKS for found in look(here, settings)]
    ok = all(found.state != "problem" for found in findings)
    lines = [f"{printing.paint(f'{f.state:<8}', _COLOURS[f.state])} {f.name:<10} {_text(f)}" for f in findings]
    data = {"schema_version": 1, "ok": ok, "findings": [asdict(found) for found in findings]}
    here.show(data, "\n".join(lines))
    raise typer.Exit(0 if ok else 1)


def _text(found: Finding) -> str:
    return f"{printing.clean(found.message)}" + (f" — {found.hint}" if found.hint else "")


def _python(here: session.Session, settings: "Settings") -> Iterator[Finding]:
    version = sys.version.split()[0]
    yield Finding("python", "ok" if sys.version_info >= (3, 12) else "problem", version)


def _mngr(here: session.Session, settings: "Settings") -> Iterator[Finding]:
    said = _said([settings.mngr.command, "--version"], MNGR_SECONDS)
    if said is None:
        hint = "install imbue-mngr, or set `command` under [mngr] to where it is"
        yield Finding("mngr", "problem", f"{settings.mngr.command} can't be run", hint)
        return
    found = re.search(r"(\d+)\.(\d+)", said)
    fits = found is not None and (int(found[1]), int(found[2])) >= (0, 2)
    yield Finding("mngr", "ok" if fits else "problem", said, "" if fits else "mngr 0.2 or later is needed")


def _tools(here: session.Session, settings: "Settings") -> Iterator[Finding]:
    for name, flag in {"tmux": "-V", "git": "--version", "rsync": "--version"}.items():
        said = _said([name, flag], TOOL_SECONDS)
        hint = "" if said else f"install {name}: your package manager has it"
        yield Finding(name, "ok" if said else "problem", said or f"there is no {name}", hint)


def _processes(here: session.Session, settings: "Settings") -> Iterator[Finding]:
    """By what the processes of a verification are ended."""
    from supervisor.adapters.judging.running import means_here

    said = {
        "namespace": "what a verification starts lives in a namespace of its own and ends with it",
        "subreaper": "no pid namespace can be made here: what a verification starts is looked for and ended",
    }
    yield Finding("processes", "ok", said[means_here()])


def _state_dir(here: session.Session, settings: "Settings") -> Iterator[Finding]:
    place = settings.state_dir
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK):
        hint = "run this as the daemon's user, or give another `state_dir`"
        yield Finding("state", "problem", f"{settings.state_dir} can't be written to", hint)
        return
    free = shutil.disk_usage(place).free // 2**30
    hint = "" if free >= 5 else "agents' clones fill a disk: make room"
    yield Finding("state", "warning" if hint else "ok", f"{settings.state_dir}, {free} GiB free", hint)


def _daemon(here: session.Session, settings: "Settings") -> Iterator[Finding]:
    try:
        facts = here.client.get("/v1/version")
    except SupervisorError as error:
        yield Finding("daemon", "warning", error.message, error.hint)
        return
    yield Finding("daemon", "ok", f"version {facts.get('version')} answers on {here.client.path}")
    for entry in here.client.get("/v1/status")["attention"]:
        yield Finding("daemon", "warning", entry["message"])


def _names(here: session.Session, settings: "Settings") -> Iterator[Finding]:
    hint = "call ours agent-supervisord and agent-supervisorctl, or install it in an environment of its own"
    try:
        yield Finding(
            "names", "warning", f"PyPI's supervisor {distribution('supervisor').version} is installed too", hint
        )
    except PackageNotFoundError:
        ours = Path(sys.executable).parent
        found = shutil.which("supervisorctl")
        if found and Path(found).resolve().parent != ours.resolve() and (ours / "supervisorctl").exists():
            yield Finding(
                "names", "warning", f"`supervisorctl` on PATH is {found}, not {ours / 'supervisorctl'}", hint
            )
        else:
            yield Finding("names", "ok", "supervisord and supervisorctl are ours")


def _claude(here: session.Session, settings: "Settings") -> Iterator[Finding]:
    """Only where a profile uses it."""
    from supervisor.settings import resolve

    profiles = [resolve(settings, name) for name in sorted({"default", *settings.profiles})]
    users = [profile for profile in profiles if profile.agent == "claude"]
    here_too = {pool.name for pool in settings.pools if pool.provider == "local"}
    if any(here_too & set(profile.pools) for profile in users):
        yield _claude_program(settings)
    for profile in users:
        name = f"profile {profile.name}"
        if not LOGINS & set(profile.env) and not (settings.mngr_home / ".claude" / ".credentials.json").exists():
            hint = (
                f'run `claude /login` with HOME={settings.mngr_home}, or give ANTHROPIC_API_KEY = "credential:NAME" '
                "in `env`"
            )
            yield Finding("claude", "warning", f"{name} has no login that is known here", hint)
        if os.geteuid() == 0 and SKIPS in profile.agent_args:
            yield _claude_as_root(name, profile.env.get("IS_SANDBOX", "1"))


def _claude_program(settings: "Settings") -> Finding:
    """mngr's PATH is the daemon's."""
    from supervisor.boot import mngr_settings

    program = shutil.which("claude", path=mngr_settings(settings).environment()["PATH"])
    if program is None:
        hint = "install it, or start the daemon with a PATH that has it"
        return Finding("claude", "warning", "there is no claude for the agents of this machine", hint)
    said = _said([program, "--version"], TOOL_SECONDS)
    return Finding("claude", "ok" if said else "warning", f"{program}: {said or 'it does not say its version'}")


def _claude_as_root(name: str, is_sandbox: str) -> Finding:
    if is_sandbox.lower() not in {"1", "true", "yes", "on"}:
        hint = 'run the daemon as a user of its own, or set IS_SANDBOX = "1" in `env` where that is true'
        return Finding("claude", "warning", f"{name}: claude refuses to skip permissions for root", hint)
    hint = "run the daemon as a user of its own, unless this machine is a sandbox"
    return Finding("claude", "warning", f"{name}: its agents are root, and may do anything unasked", hint)


_LOOKS: tuple[Callable[[session.Session, "Settings"], Iterator[Finding]], ...] = (
    _python,
    _mngr,
    _tools,
    _processes,
    _state_dir,
    _daemon,
    _names,
    _claude,
)


def _said(argv: list[str], within: float) -> str | None:
    """The first line, or None when it can't be run."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=within, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return next(iter((done.stdout + done.stderr).splitlines()), "")
