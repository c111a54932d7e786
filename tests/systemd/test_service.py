"""The service under a real systemd, with ten live agents: whatever becomes of the daemon, they live on and are found.

The tests share one machine and one batch; each of them is also right alone.
"""

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.systemd.machine import booted
from tests.systemd.service import (
    AGENTS,
    AGENTS_UNIT,
    CONFIG,
    GATE_UNIT,
    GOOD,
    PATIENCE_SECONDS,
    REPO,
    ROOT,
    SCRIPT,
    SOCKET_UNIT,
    STATE,
    UNIT,
    Service,
)
from tests.waiting import until_sync

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

#: the score of `systemd-analyze security`: 10 is a service without any protection
MOST_EXPOSED = 4.0
UNITS = [UNIT, AGENTS_UNIT, SOCKET_UNIT, GATE_UNIT, "agent-supervisor-gate.socket"]
UNITS += ["agent-supervisor-overnight.service", "agent-supervisor-overnight.timer"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with booted(tmp_path_factory.mktemp("machine")) as machine:
        installed = Service(machine)
        installed.install()
        installed.set_up()
        yield installed


@contextmanager
def agents_untouched(service: Service) -> Iterator[str]:
    """Ten are live before; the same ten are live afterwards, and the daemon has looked at them and knows."""
    batch = service.batch()
    before = service.agents()
    assert len(before) == AGENTS
    yield batch
    assert service.agents() == before, "agents were started again"
    assert all(map(service.is_alive, before.values())), "agents have died"
    assert service.is_adopted(batch)
    service.has_looked()
    assert service.is_adopted(batch)


@contextmanager
def configured(service: Service, text: str) -> Iterator[None]:
    service.machine.write(CONFIG, text)
    try:
        yield
    finally:
        service.machine.write(CONFIG, GOOD)


def test_the_units_are_without_fault(service: Service) -> None:
    """As systemd itself judges; agents and their verification are confined alike, and not less than this."""
    verified = service.machine.try_run("systemd-analyze", "verify", *UNITS)
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")

    for unit in (UNIT, AGENTS_UNIT):
        path = f"/usr/local/lib/systemd/system/{unit}"
        judged = service.machine.run("systemd-analyze", "security", "--offline=yes", "--no-pager", path)
        [score] = re.findall(r"Overall exposure level for \S+: ([\d.]+)", judged)
        print(f"{unit}: exposure {score}, at most {MOST_EXPOSED}")
        assert float(score) <= MOST_EXPOSED

    daemon, agents = (
        Path(f"systemd/{unit}").read_text().partition("# --- sandbox")[2] for unit in (UNIT, AGENTS_UNIT)
    )
    directives = re.compile(r"^(?!#)\S+=.*$", re.MULTILINE)
    assert directives.findall(agents) == directives.findall(daemon.partition("[Install]")[0])


def test_ready_means_that_it_can_be_asked(service: Service) -> None:
    """`systemctl start` returns when the lock is held, the journal is replayed and the socket answers."""
    with agents_untouched(service) as batch:
        service.machine.run("systemctl", "stop", UNIT)
        service.start()
        assert service.is_adopted(batch)
        assert "10 running" in service.machine.show(UNIT, "StatusText")


def test_agents_are_in_a_control_group_of_their_own(service: Service) -> None:
    with agents_untouched(service):
        agents = {agent.pid for agent in service.agents().values()}
        assert agents <= service.machine.group(AGENTS_UNIT) - service.machine.group(UNIT)


def test_a_restart(service: Service) -> None:
    with agents_untouched(service):
        before = service.pid
        service.machine.run("systemctl", "restart", UNIT)
        assert service.pid != before


def test_a_stop_detaches_within_five_seconds(service: Service) -> None:
    with agents_untouched(service):
        began = time.monotonic()
        service.machine.run("systemctl", "stop", UNIT)
        took = time.monotonic() - began
        crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # a machine that others use is slower by as much
        assert took < 5 * crowd
        assert service.machine.show(UNIT, "Result") == "success"
        assert service.machine.group(UNIT) == set()
        service.start()


def test_the_daemon_killed(service: Service) -> None:
    with agents_untouched(service), service.ended_by("signal"):
        service.signal(signal.SIGKILL)


def test_a_daemon_that_stands_still_is_ended_by_the_watchdog(service: Service) -> None:
    with agents_untouched(service), service.ended_by("watchdog"):
        service.signal(signal.SIGSTOP)


def test_a_wedged_loop_is_ended_by_the_watchdog_though_the_api_answers(service: Service) -> None:
    """Something holds the journal, so nothing can be written down: that questions are answered is no sign of life."""
    pause = ("supervisorctl", "pause", "--reason", "to have something to write down")
    with agents_untouched(service):
        wedged = service.pid
        with service.ended_by("watchdog"), service.journal_held(), service.machine.running(*pause) as asking:
            until_sync("it can't write", lambda: service.answers_without_writing(asking))
            until_sync("it is ended", lambda: service.pid != wedged, PATIENCE_SECONDS)
        service.ctl("resume")


def test_a_bad_configuration_is_said_and_not_tried_again(service: Service) -> None:
    with agents_untouched(service):
        with configured(service, GOOD.replace("[[pools]]", "[[pols]]")):
            assert service.machine.try_run("systemctl", "restart", UNIT).returncode != 0
            status = service.machine.try_run("systemctl", "status", "--no-pager", "--full", UNIT).stdout
            assert "pols is not a key" in status
            assert "did you mean `pools`?" in status
            assert (service.machine.show(UNIT, "ActiveState"), service.machine.show(UNIT, "NRestarts")) == (
                "failed",
                "0",
            )
        service.start()


def test_a_bad_configuration_is_not_read_at_a_reload(service: Service) -> None:
    """The last good one stays, and the journal has the sentence."""
    with agents_untouched(service):
        before = service.pid
        with configured(service, "slots = 3\n"):
            service.machine.run("systemctl", "reload", UNIT)
            said = "configuration not reloaded"
            until_sync("it is said", lambda: said in service.machine.said(UNIT))
        assert service.pid == before


def test_the_socket_starts_it_and_a_bad_configuration_hangs_up(service: Service) -> None:
    """One try for each caller, no loop; and requests wait while it restarts."""
    with agents_untouched(service):
        service.machine.run("systemctl", "stop", UNIT)
        service.machine.run("systemctl", "start", SOCKET_UNIT)
        tries = service.tries()
        with configured(service, "pols = 1\n"):
            asked = service.machine.try_run("supervisorctl", "status")
            assert asked.returncode == 3
            until_sync("it has failed", service.is_failed)
            assert service.tries() == tries + 1
        assert service.machine.show(SOCKET_UNIT, "ActiveState") == "active"
        assert service.ctl("status")["agents"] == AGENTS
        mode = service.machine.run("stat", "--format=%a %U %G", "/run/agent-supervisor/ctl.sock").strip()
        assert mode == "660 agent-supervisor agent-supervisor"
        service.machine.run("systemctl", "restart", UNIT)
        service.machine.run("systemctl", "stop", UNIT, SOCKET_UNIT)
        service.start()


def test_credentials_reach_whom_they_are_given(service: Service) -> None:
    """The one that the profile names is in the agents' environment; the other is nowhere, nor is the way to them."""
    with agents_untouched(service):
        for pid in service.machine.group(AGENTS_UNIT):
            environment = service.machine.path(f"/proc/{pid}/environ").read_bytes()
            assert b"CREDENTIALS_DIRECTORY" not in environment
            assert b"this-is-withheld" not in environment
        agent = next(iter(service.agents().values())).pid
        assert b"GIVEN=this-is-given" in service.machine.path(f"/proc/{agent}/environ").read_bytes()
        server = service.machine.show(AGENTS_UNIT, "MainPID")
        assert b"this-is" not in service.machine.path(f"/proc/{server}/environ").read_bytes()
        shown = service.machine.try_run("nsenter", "-t", server, "-m", "ls", f"/run/credentials/{UNIT}")
        assert shown.returncode != 0


def test_the_journal_is_searched_by_batch_job_attempt_and_agent(service: Service) -> None:
    with agents_untouched(service) as batch:
        row = service.ctl("jobs", batch)["rows"][0]
        found = service.machine.entries(f"BATCH={batch}", f"JOB={row['id']}", "ATTEMPT=1", f"AGENT={row['agent']}")
        assert found
        assert {entry["_SYSTEMD_UNIT"] for entry in found} == {UNIT}


def test_an_upgrade(service: Service) -> None:
    """Installed again over itself while agents live."""
    with agents_untouched(service):
        service.install()
        service.machine.run("systemctl", "restart", UNIT)


def test_staged_for_a_package(service: Service) -> None:
    """With DESTDIR all is below it, made for where it will be, and the machine is left alone."""
    before = service.machine.run("find", "/usr/local", "/etc", "-newer", "/usr/local/bin/agent-supervisord")
    service.install(DESTDIR="/opt/staged", PREFIX="/usr")
    staged = service.machine.run("find", "/opt/staged", "-maxdepth", "6", "-name", "*supervis*").split()
    assert "/opt/staged/usr/bin/agent-supervisord" in staged
    assert f"/opt/staged/usr/lib/systemd/system/{UNIT}" in staged
    assert "/opt/staged/usr/share/man/man8/supervisord.8" in staged
    assert service.machine.try_run("grep", "-rlF", "/opt/staged", "/opt/staged").stdout == ""
    after = service.machine.run("find", "/usr/local", "/etc", "-newer", "/usr/local/bin/agent-supervisord")
    assert after == before


def test_what_the_agents_did_is_collected(service: Service) -> None:
    """After all that: every job ends once, at its first attempt, and its work is home."""
    batch = service.batch()
    service.let_agents_finish()
    service.machine.run("supervisorctl", "wait", batch, timeout=2 * PATIENCE_SECONDS)
    rows = service.ctl("jobs", batch)["rows"]
    assert [(row["outcome"], row["attempts"]) for row in rows] == [("improved", 1)] * AGENTS


def test_agents_whose_server_dies_go_again_in_the_next_one(service: Service) -> None:
    """It is there again at once, and never is one started in the control group of the daemon."""
    service.batch()
    before = set(service.agents())
    service.machine.run("kill", "-KILL", service.machine.show(AGENTS_UNIT, "MainPID"))

    def others() -> set[int]:
        return {each.pid for job, each in service.agents().items() if job not in before and service.is_alive(each)}

    until_sync("ten others work", lambda: len(others()) == AGENTS, PATIENCE_SECONDS)
    assert others() <= service.machine.group(AGENTS_UNIT)
    programs = [service.machine.path(f"/proc/{pid}/comm") for pid in service.machine.group(UNIT)]
    assert "tmux: server" not in {each.read_text().strip() for each in programs if each.exists()}


def test_a_unit_of_ones_own_is_warned(service: Service) -> None:
    """Where nothing has the agents' server, the first agent would start it in the service itself."""
    daemon = "/usr/local/bin/supervisord --state-dir /var/lib/lonely --socket /run/lonely.sock"
    unit = f"[Service]\nType=notify\nEnvironment=LANG=C.UTF-8\nExecStart={daemon}\n"
    service.machine.write("/run/systemd/system/lonely.service", unit)
    service.machine.run("systemctl", "daemon-reload")
    service.machine.run("systemctl", "start", "lonely")
    warning = "local agents would end with this service"
    until_sync("it is warned", lambda: warning in service.machine.said("lonely.service"))
    service.machine.run("systemctl", "stop", "lonely")
    assert warning not in service.machine.said(UNIT)


def test_overnight_submits(service: Service) -> None:
    service.start()
    overnight = "agent-supervisor-overnight.service"
    # The tests' own interpreter may lie under /tmp, of which the unit has one of its own.
    bound = f"[Service]\nBindReadOnlyPaths={ROOT}\n"
    service.machine.write(f"/etc/systemd/system/{overnight}.d/test.conf", bound)
    service.machine.run("systemctl", "daemon-reload")
    service.machine.write("/etc/agent-supervisor/overnight.env", f"REPO={REPO}\nARGS=tests --priority 3\n")
    night = GOOD + '[profiles.overnight]\ninherits = "default"\nwindow = "22:00-22:01"\ntimezone = "UTC"\n'
    with configured(service, night):
        service.machine.run("systemctl", "reload", UNIT)
        submitted = service.machine.try_run("systemctl", "start", overnight)
        assert submitted.returncode == 0, service.machine.said(overnight)
        [row] = [row for row in service.ctl("status")["batches"] if row["state"] == "queued"]
        assert row["jobs"]["total"] == AGENTS
        service.ctl("cancel", row["id"])


def test_uninstalled(service: Service) -> None:
    """Nothing of it runs or lies about, no agent either; what belongs to the administrator stays."""
    service.machine.run(SCRIPT, "--remove", timeout=PATIENCE_SECONDS)
    assert service.machine.try_run("systemctl", "cat", UNIT).returncode != 0
    assert service.machine.try_run("pgrep", "-u", "agent-supervisor").returncode == 1
    left = service.machine.run("find", "/usr/local", "-name", "*supervis*").split()
    assert not left
    assert service.machine.path(CONFIG).exists()
    assert service.machine.path(STATE).is_dir()
