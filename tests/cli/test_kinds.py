"""What `doctor` says of each kind of agent that a profile uses: its program, its login, and what is odd about it."""

import os
from pathlib import Path
from typing import Any, cast

import pytest

from supervisor.cli import session
from supervisor.cli.doctor_agents import agents
from supervisor.cli.findings import Finding, Judged
from supervisor.kinds import KINDS, Kind
from supervisor.settings import Settings

KNOWN = [kind for kind in KINDS.values() if kind.executable]
known = pytest.mark.parametrize("kind", KNOWN, ids=lambda kind: kind.name)


def findings(folder: Path, kind: Kind, **profile: Any) -> list[Finding]:
    settings = Settings.model_validate(
        {
            "state_dir": folder / "state",
            "socket": folder / "ctl.sock",
            "profiles": {"default": {"agent": kind.name, **profile}},
        }
    )
    judged = Judged(settings, "of a test", str(folder / "bin"), os.geteuid() or 1000)
    return list(agents(cast("session.Session", None), judged))


def install(folder: Path, kind: Kind) -> None:
    program = folder / "bin" / kind.executable
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 1.2.3\n")
    program.chmod(0o755)


@known
def test_without_its_program_it_says_what_to_install(tmp_path: Path, kind: Kind) -> None:
    program, login = findings(tmp_path, kind)
    assert (program.name, program.state) == (kind.name, "warning")
    assert kind.plugin in program.hint
    assert kind.login is not None
    assert kind.login.command in login.hint


@known
def test_with_its_program_and_a_key_there_is_nothing_to_do(tmp_path: Path, kind: Kind) -> None:
    install(tmp_path, kind)
    assert kind.login is not None
    for variable in kind.login.variables:
        [program] = findings(tmp_path, kind, env={variable: "credential:key"})
        assert (program.state, "1.2.3" in program.message) == ("ok", True)


@known
def test_a_persons_login_is_found_in_the_home_ofagents(tmp_path: Path, kind: Kind) -> None:
    install(tmp_path, kind)
    assert kind.login is not None
    file = tmp_path / "state" / "home" / kind.login.file
    file.parent.mkdir(parents=True)
    file.touch()
    assert [found.state for found in findings(tmp_path, kind)] == ["ok"]
