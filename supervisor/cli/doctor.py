"""`doctor`: checks that this machine has what the daemon and its agents need, and says how to fix what is missing.

It checks the running daemon's configuration, as the daemon reports it, because the user's own configuration file and
PATH may differ. It reads the local configuration only if no daemon runs or `--config` names a file.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from supervisor.cli import printing, session
from supervisor.cli.doctor_agents import agents
from supervisor.cli.doctor_gate import gate
from supervisor.cli.doctor_selector import selector
from supervisor.cli.doctor_traces import traces
from supervisor.cli.doctor_walls import agent_walls
from supervisor.cli.findings import TOOL_SECONDS, Finding, Judged, said_by, setups_kept
from supervisor.errors import SupervisorError

MNGR_SECONDS, COUNT_SECONDS = 60.0, 5.0
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
    drill: Annotated[
        bool, typer.Option("--drill", help="Rehearse: agents without a model in each pool, and deaths of all kinds.")
    ] = False,
) -> None:
    """Check everything that agents and the daemon need. Exits 1 if something is missing.

    With --drill, a daemon of its own takes an agent through its whole life in each pool, then kills an agent, a call
    of mngr and itself, in about two minutes: supervisorctl doctor --drill

    Example: supervisorctl doctor
    """
    here = session.of(ctx)
    judged = _judged(here, config)
    if drill:
        from supervisor.cli.drilling import drill as rehearse

        raise typer.Exit(0 if rehearse(here, judged, os.geteuid()) else 1)
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
    said = said_by([command, "--version"], MNGR_SECONDS, judged.path)
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
        said = said_by([name, flag], TOOL_SECONDS, judged.path)
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
        if entry["kind"] != "telemetry":  # `traces` says it
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


def _remote(here: session.Session, judged: Judged) -> Iterator[Finding]:
    """Whether hosts of ssh pools have what it takes to verify there."""
    from supervisor.adapters.mngr.ssh_hosts import looked_at

    for each in looked_at(judged.settings):
        where = f"{each.host} of the pool {each.pool}"
        if each.unseen:
            hint = "see that the daemon's user reaches it by ssh, with the key that mngr's settings name"
            yield Finding("hosts", "warning", f"can't look at {where}: {each.unseen}", hint)
        elif each.missing:
            hint = 'install it there, or say verify_pools = ["local"] in the profiles'
            yield Finding("hosts", "warning", f"{where} can't verify: it has no {each.missing}", hint)
        else:
            yield Finding("hosts", "ok", f"{where} can verify")


_LOOKS: tuple[Callable[[session.Session, Judged], Iterator[Finding]], ...] = (
    _python,
    _configuration,
    _mngr,
    _tools,
    _walls,
    agent_walls,
    selector,
    _state_dir,
    lambda here, judged: setups_kept(judged),
    _daemon,
    _names,
    _lifetimes,
    _remote,
    agents,
    gate,
    traces,
)
