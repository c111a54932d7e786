"""`doctor`: checks that this machine has what the daemon and its agents need, and says how to fix what is missing.

It checks the running daemon's configuration, as the daemon reports it, because the user's own configuration file and
PATH may differ. It reads the local configuration only if no daemon runs or `--config` names a file.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from supervisor.cli import printing, session
from supervisor.cli.findings import Finding, Judged
from supervisor.errors import SupervisorError
from supervisor.kinds import Kind, kind_of
from supervisor.kinds.kind import Login
from supervisor.model.batch import Profile

MNGR_SECONDS, TOOL_SECONDS, COUNT_SECONDS = 60.0, 10.0, 5.0
LITTLE_ROOM = 5 * 2**30
#: the version that the tests run on; without --python, uv takes an older one where that is the system's
INSTALL_MNGR = "uv tool install --python 3.12 'imbue-mngr==0.3.*' --with 'imbue-mngr-claude==0.3.*'"
_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


def doctor(
    ctx: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check this file instead of the running daemon's configuration."),
    ] = None,
) -> None:
    """Check everything that agents and the daemon need. Exits 1 if something is missing.

    Example: supervisorctl doctor
    """
    here = session.of(ctx)
    judged = _judged(here, config)
    findings = [found for look in _LOOKS for found in look(here, judged)]
    ok = all(found.state != "problem" for found in findings)
    lines = [f"{printing.paint(f'{f.state:<8}', _COLOURS[f.state])} {f.name:<10} {_text(f)}" for f in findings]
    data = {"schema_version": 1, "ok": ok, "judged": judged.source, "findings": [asdict(found) for found in findings]}
    data["disk"] = _disk(judged.settings.state_dir)
    here.show(data, "\n".join(lines))
    raise typer.Exit(0 if ok else 1)


def _judged(here: session.Session, config: Path | None) -> Judged:
    from supervisor.settings import Settings, load, origins

    if config is None:
        try:
            told = here.client.get("/v1/configuration")
            settings = Settings.model_validate(told["settings"])
            source = f"of the running daemon: {', '.join(told['sources'])}"
            return Judged(settings, source, told["path"], told["user"], is_running=True)
        except (SupervisorError, KeyError, ValueError):  # no daemon runs, or one of another version
            pass
    found = f"of {', '.join(dict.fromkeys(origins(config).values())) or 'the defaults'}"
    return Judged(load(config), found, os.environ.get("PATH", os.defpath), os.geteuid())


def _configuration(here: session.Session, judged: Judged) -> Iterator[Finding]:
    yield Finding("config", "ok", f"checking the configuration {judged.source}")


def _text(found: Finding) -> str:
    return f"{printing.clean(found.message)}" + (f" — {found.hint}" if found.hint else "")


def _python(here: session.Session, judged: Judged) -> Iterator[Finding]:
    version = sys.version.split()[0]
    yield Finding("python", "ok" if sys.version_info >= (3, 12) else "problem", version)


def _mngr(here: session.Session, judged: Judged) -> Iterator[Finding]:
    command = judged.settings.mngr.command
    said = _said([command, "--version"], MNGR_SECONDS, judged.path)
    if said is None:
        yield _no_mngr(command)
        return
    found = re.search(r"(\d+)\.(\d+)", said)
    fits = found is not None and (int(found[1]), int(found[2])) >= (0, 2)
    yield Finding("mngr", "ok" if fits else "problem", said, "" if fits else "mngr 0.2 or later is needed")


def _no_mngr(command: str) -> Finding:
    """It has an environment of its own, whose programs may not be on the daemon's PATH."""
    places = [os.environ.get("UV_TOOL_BIN_DIR"), os.environ.get("PIPX_BIN_DIR"), "~/.local/bin"]
    found = [each for place in places if place and (each := Path(place).expanduser() / "mngr").exists()]
    if found:
        hint = f"start the daemon with {found[0].parent} on PATH, or set `command` under [mngr] to {found[0]}"
        return Finding("mngr", "problem", f"{command} is not on PATH, but {found[0]} is there", hint)
    hint = (
        f"install it in an environment of its own, by `{INSTALL_MNGR}`, or set `command` under [mngr] to where it is"
    )
    return Finding("mngr", "problem", f"{command} can't be run", hint)


def _tools(here: session.Session, judged: Judged) -> Iterator[Finding]:
    for name, flag in {"tmux": "-V", "git": "--version", "rsync": "--version"}.items():
        said = _said([name, flag], TOOL_SECONDS, judged.path)
        hint = "" if said else f"install {name}: your package manager has it"
        yield Finding(name, "ok" if said else "problem", said or f"there is no {name}", hint)


def _walls(here: session.Session, judged: Judged) -> Iterator[Finding]:
    """Whether what agents wrote is enclosed when it runs here, or at least ends with all that it started."""
    from anyio import run

    from supervisor.settings import resolve
    from supervisor.verification.trials.running import means_here, walls_lack
    from supervisor.verification.walls.sandbox import ENCLOSED, NOT_ENCLOSED, mend

    wanted = {resolve(judged.settings, name).sandbox for name in ("default", *judged.settings.profiles)}
    lacks = run(walls_lack) if wanted != {"off"} else ""
    if lacks:
        state: Literal["warning", "problem"] = "problem" if "require" in wanted else "warning"
        yield Finding("walls", state, f"verification has no walls, they can't be built here: {lacks}", mend(lacks))
    elif wanted != {"off"}:
        yield Finding("walls", "ok", ENCLOSED)
    if lacks or "off" in wanted:
        yield Finding("processes", "ok", NOT_ENCLOSED[run(means_here)])


def _state_dir(here: session.Session, judged: Judged) -> Iterator[Finding]:
    """Another user's rights can't be checked from here; a daemon that runs can write its state directory."""
    folder = judged.settings.state_dir
    place = next(each for each in (folder, *folder.parents) if os.access(each, os.F_OK))
    if not judged.is_running and not os.access(place, os.W_OK):
        hint = "run doctor as the daemon's user, or set another `state_dir`"
        yield Finding("state", "problem", f"{folder} can't be written to", hint)
        return
    free = shutil.disk_usage(place).free
    hint = "" if free >= LITTLE_ROOM else "agents' clones need disk space: free some, or keep less (`[keep]`)"
    taken = _disk(folder)
    said = printing.disk(taken) if taken else f"{free // 2**30} GiB free"
    yield Finding("state", "warning" if hint else "ok", f"{folder}: {said}", hint)


@cache
def _disk(state_dir: Path) -> dict[str, Any] | None:
    """None if there is no state yet, or we may not read it."""
    from supervisor.adapters.disk import measure

    try:
        return asdict(measure(state_dir, COUNT_SECONDS)) if os.access(state_dir, os.R_OK | os.X_OK) else None
    except OSError:
        return None


def _daemon(here: session.Session, judged: Judged) -> Iterator[Finding]:
    try:
        facts = here.client.get("/v1/version")
    except SupervisorError as error:
        yield Finding("daemon", "warning", error.message, error.hint)
        return
    yield Finding("daemon", "ok", f"version {facts.get('version')} answers on {here.client.path}")
    if problem := (facts.get("mngr") or {}).get("problem"):
        yield Finding("daemon", "problem", f"the daemon can't use mngr: {problem}", "fix that and restart the daemon")
    for entry in here.client.get("/v1/status")["attention"]:
        yield Finding("daemon", "warning", entry["message"])


def _names(here: session.Session, judged: Judged) -> Iterator[Finding]:
    hint = "use the commands agent-supervisord and agent-supervisorctl, or install this in its own environment"
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
            yield Finding("names", "ok", "supervisord and supervisorctl are those of agent-supervisor")


def _lifetimes(here: session.Session, judged: Judged) -> Iterator[Finding]:
    """Whether a provider would end an agent before its own limit does."""
    from supervisor.adapters.mngr.lifetimes import too_short

    for found in too_short(judged.settings):
        yield Finding("pools", "problem", found.message, found.hint)


def _agents(here: session.Session, judged: Judged) -> Iterator[Finding]:
    """For each kind that a profile uses: its program on this machine, its login, and the kind's own warnings."""
    from supervisor.settings import resolve

    settings = judged.settings
    profiles = [resolve(settings, name) for name in sorted({"default", *settings.profiles})]
    here_too = {pool.name for pool in settings.pools if pool.provider == "local"}
    for kind in {profile.agent: kind_of(profile.agent) for profile in profiles}.values():
        users = [profile for profile in profiles if profile.agent == kind.name]
        if kind.executable and any(here_too & set(profile.pools) for profile in users):
            yield _program(kind, judged)
        for profile in users:
            name = f"profile {profile.name}"
            if kind.login is not None and not _has_login(kind.login, profile, settings.mngr_home):
                hint = _log_in(kind.login, settings.mngr_home)
                yield Finding(kind.name, "warning", f"{name} has no login on this machine", hint)
            for doubt in kind.doubts(profile, is_root=judged.user == 0):
                yield Finding(kind.name, "warning", f"{name}: {doubt.message}", doubt.hint)


def _has_login(login: Login, profile: Profile, home: Path) -> bool:
    return bool(login.variables & set(profile.env)) or not _is_missing(home / login.file)


def _log_in(login: Login, home: Path) -> str:
    key = min(login.variables)
    return f'run `{login.command}` with HOME={home}, or give {key} = "credential:NAME" in `env`'


def _is_missing(path: Path) -> bool:
    """True also if the file can't be checked because it belongs to another user."""
    try:
        return not path.exists()
    except OSError:
        return False


def _program(kind: Kind, judged: Judged) -> Finding:
    """mngr's PATH is the daemon's."""
    from supervisor.boot import mngr_settings

    mngr = replace(mngr_settings(judged.settings), env={"PATH": judged.path})
    program = shutil.which(kind.executable, path=mngr.environment()["PATH"])
    if program is None:
        hint = f"install it, or put it on the daemon's PATH; mngr also needs its plugin {kind.plugin}"
        return Finding(kind.name, "warning", f"there is no {kind.executable} for the agents of this machine", hint)
    said = _said([program, "--version"], TOOL_SECONDS, judged.path)
    calls = f"; it calls {', '.join(kind.hosts)}" if kind.hosts else ""
    found = f"{program}: {said or 'it does not say its version'}{calls}"
    return Finding(kind.name, "ok" if said else "warning", found)


_LOOKS: tuple[Callable[[session.Session, Judged], Iterator[Finding]], ...] = (
    _python,
    _configuration,
    _mngr,
    _tools,
    _walls,
    _state_dir,
    _daemon,
    _names,
    _lifetimes,
    _agents,
)


def _said(argv: list[str], within: float, path: str) -> str | None:
    """The first line of its output, or None if it can't be run."""
    if (program := shutil.which(argv[0], path=path)) is None:
        return None
    try:
        done = subprocess.run(
            [program, *argv[1:]],
            capture_output=True,
            text=True,
            timeout=within,
            check=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PATH": path},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return next(iter((done.stdout + done.stderr).splitlines()), "")
