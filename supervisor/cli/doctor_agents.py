"""What `doctor` says of agents: their programs on this machine, and their logins."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from supervisor.cli import session
from supervisor.cli.findings import TOOL_SECONDS, Finding, Judged, said_by
from supervisor.kinds import Kind, kind_of
from supervisor.kinds.kind import Login
from supervisor.model.profile import Profile


def agents(here: session.Session, judged: Judged) -> Iterator[Finding]:
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
            is_led = settings.gate.on and bool(kind.apis)
            if kind.login is not None and not is_led and not _has_login(kind.login, profile, settings.mngr_home):
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
    said = said_by([program, "--version"], TOOL_SECONDS, judged.path)
    calls = f"; it calls {', '.join(kind.hosts)}" if kind.hosts else ""
    found = f"{program}: {said or 'it does not say its version'}{calls}"
    return Finding(kind.name, "ok" if said else "warning", found)
