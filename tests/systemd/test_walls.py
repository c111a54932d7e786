"""Walls under the daemon's unit: confined as it is, as its user."""

import re
from pathlib import Path

import pytest

from tests.systemd.machine import booted
from tests.systemd.service import UNIT, Service

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

LACK = "import anyio; from supervisor.verification.trials.running import walls_lack; print(anyio.run(walls_lack))"


def test_the_daemon_can_build_them(tmp_path: Path) -> None:
    with booted(tmp_path) as machine:
        Service(machine).install()
        unit = machine.run("systemctl", "cat", UNIT)
        confined = unit.partition("# --- sandbox")[2].partition("[Install]")[0]
        options = ["User=agent-supervisor", *re.findall(r"^[A-Z]\w+=.*$", confined, re.MULTILINE)]
        assert "NoNewPrivileges=yes" in options
        program = re.findall(r"^ExecStart=(\S+)", unit, re.MULTILINE)[0]
        python = machine.run("head", "-n", "1", program).removeprefix("#!").strip()
        given = [f"--property={each}" for each in options]
        said = machine.run("systemd-run", "--quiet", "--pipe", "--wait", "--collect", *given, python, "-c", LACK)

    assert said.strip() == ""
