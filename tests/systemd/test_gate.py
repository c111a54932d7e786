"""The gate as a unit beside the daemon's, under a real systemd: whatever becomes of either, agents are answered."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.gate.gates import REAL_KEY
from tests.gate.provider import STREAM, scripted
from tests.systemd.gated import ANSWERS, GATE_SOCKET, JOBS, Gated
from tests.systemd.machine import booted
from tests.systemd.service import AGENTS_UNIT, GATE_UNIT, STATE, UNIT

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(900)]

WHOLE = "200 1"
#: a connection that is kept would outlive its test
SLOW = replace(STREAM, pace=0.1, headers={"connection": "close"})


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gated]:
    with booted(tmp_path_factory.mktemp("machine")) as machine, scripted() as provider:
        installed = Gated(machine, provider)
        installed.install()
        installed.set_up()
        yield installed


def test_the_daemon_is_killed_and_restarted_and_no_request_breaks(service: Gated) -> None:
    service.provider.always = SLOW
    with service.asking():
        gate = service.main(GATE_UNIT)
        service.kill(UNIT)
        service.more_are_answered(JOBS)
        service.machine.run("systemctl", "restart", UNIT)
        service.more_are_answered(JOBS)
        assert service.main(GATE_UNIT) == gate
    assert set(service.answers()) == {WHOLE}


def test_a_restart_of_the_gate_breaks_no_request(service: Gated) -> None:
    """Answers under way come to their end, and who asks meanwhile waits in the socket, which systemd has."""
    service.provider.always = SLOW
    with service.asking():
        gate = service.main(GATE_UNIT)
        service.machine.run("systemctl", "restart", GATE_UNIT)
        service.more_are_answered(JOBS)
        assert service.main(GATE_UNIT) != gate
    assert set(service.answers()) == {WHOLE}


def test_the_gate_is_killed_and_agents_try_again_and_go_on(service: Gated) -> None:
    service.provider.always = SLOW
    with service.asking():
        service.kill(GATE_UNIT)
        service.more_are_answered(2 * JOBS)
    broken = [answer for answer in service.answers() if answer != WHOLE]
    assert 0 < len(broken) <= JOBS, "those that were under way, and no other"
    assert service.machine.show(GATE_SOCKET, "ActiveState") == "active"
    said = [entry["MESSAGE"] for entry in service.machine.entries("SYSLOG_IDENTIFIER=supervisor-gate")]
    assert any("requests were under way when the last gate ended" in each for each in said)


def test_the_key_is_in_the_gate_alone(service: Gated) -> None:
    """In no log, in no file of the service, and in the environment of no agent; each of those has one of its own."""
    service.provider.always = SLOW
    with service.asking():
        for pid in service.machine.group(AGENTS_UNIT):
            environ = service.machine.path(f"/proc/{pid}/environ")
            assert not environ.exists() or REAL_KEY.encode() not in environ.read_bytes()
    keys = [found["ANTHROPIC_API_KEY"] for found in service.environments()]
    assert len(set(keys)) == JOBS
    assert all(key.startswith("sk-gate-") for key in keys)
    assert service.provider.asked[-1].headers["x-api-key"] == REAL_KEY
    assert REAL_KEY not in service.machine.run("journalctl", "--no-pager", "--output=cat")
    assert service.machine.try_run("grep", "-rlF", REAL_KEY, STATE, "/run/agent-supervisor").stdout == ""
    gate = service.main(GATE_UNIT)
    assert REAL_KEY not in service.machine.run("cat", f"/proc/{gate}/cmdline")
    whose = ("runuser", "-u", "agent-supervisor", "--", "cat", f"/proc/{gate}/environ")
    assert service.machine.try_run(*whose).returncode != 0, "not even for its own user"
    assert service.machine.try_run("grep", "-rlF", REAL_KEY, ANSWERS).stdout == ""
