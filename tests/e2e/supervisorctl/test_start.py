"""Starting: what must be there, the first daemon, and a second one beside it."""

from supervisor.e2e import E2e, expect
from tests.e2e.supervisorctl.stage import Stage


def test_doctor(e2e: E2e, stage: Stage) -> None:
    """A machine that has all that is needed: the findings say so, and that no daemon runs yet.

    Tutorial block:
        # is all there that the daemon and its agents need? each finding says what to do about it
        supervisorctl doctor
    """
    found = e2e.run("supervisorctl doctor", comment="is all there?")
    expect(found).to_succeed().stdout.to_match(r"^ok +mngr +mngr 0\.3\.0$").to_match(r"^ok +git ")
    expect(found.stdout).to_match("^warning +daemon +no daemon listens on .* — ")


def test_doctor_with_mngr_elsewhere(e2e: E2e, stage: Stage) -> None:
    """It was installed in an environment of its own, whose programs are not on PATH: the line says where it is.

    Tutorial block:
        # is all there that the daemon and its agents need? each finding says what to do about it
        supervisorctl doctor
    """
    stage.uninstall_mngr()
    e2e.run("install -D /bin/true ~/.local/bin/mngr", comment="as `uv tool install` does")
    found = e2e.run("supervisorctl doctor", comment="a daemon would not find it")
    expect(found).to_have_exit_code(1).stdout.to_match(
        "^problem +mngr +.*is not on PATH, but .*/.local/bin/mngr is there"
    )


def test_doctor_without_mngr(e2e: E2e, stage: Stage) -> None:
    """What is missing makes it fail, and the line says what to do.

    Tutorial block:
        # is all there that the daemon and its agents need? each finding says what to do about it
        supervisorctl doctor
    """
    stage.uninstall_mngr()
    found = e2e.run("supervisorctl doctor", comment="on a machine without mngr")
    expect(found).to_have_exit_code(1).stdout.to_match(
        "^problem +mngr +.*can't be run — install it in an .* `uv tool install"
    )


def test_help(e2e: E2e, stage: Stage, installed: None) -> None:
    """The help of a verb has an example.

    Tutorial block:
        # every verb explains itself, with an example
        supervisorctl submit --help
    """
    shown = e2e.run("supervisorctl submit --help", comment="what can it do?")
    expect(shown).to_succeed().stdout.to_contain("Usage: supervisorctl submit", "Example: supervisorctl submit")


def test_help_on_a_verb_that_is_none(e2e: E2e, stage: Stage) -> None:
    """A typing error is wrong usage.

    Tutorial block:
        # every verb explains itself, with an example
        supervisorctl submit --help
    """
    expect(e2e.run("supervisorctl sumbit --help")).to_have_exit_code(2).stderr.to_contain("No such command 'sumbit'")


def test_a_daemon_without_configuration(e2e: E2e, stage: Stage, installed: None) -> None:
    """It runs four agents at a time on this machine.

    Tutorial block:
        # start the daemon; without a word of configuration it runs four agents at a time on this machine
        # (as a service that outlives your login: docs/systemd.md)
        supervisord &
    """
    started = e2e.run("supervisord &", comment="start the daemon", keep_background=True)
    expect(started).to_succeed()
    stage.answers()
    expect(e2e.run("supervisorctl status")).stdout.to_match(r"^local +local +0/4 ")


def test_a_second_daemon_is_refused(e2e: E2e, shared: None) -> None:
    """Two daemons never work on the same state.

    Tutorial block:
        # start the daemon; without a word of configuration it runs four agents at a time on this machine
        # (as a service that outlives your login: docs/systemd.md)
        supervisord &
    """
    second = e2e.run("supervisord", comment="and another one")
    expect(second).to_have_exit_code(4).stderr.to_match("^hint: ")
    expect(e2e.run("supervisorctl version", comment="the first one is not disturbed")).stdout.to_contain(
        ", daemon 0."
    )


def test_version(e2e: E2e, shared: None) -> None:
    """Both versions are told.

    Tutorial block:
        # does it answer?
        supervisorctl version
    """
    expect(e2e.run("supervisorctl version")).to_succeed().stdout.to_match(r"^supervisorctl (\S+), daemon \1$")


def test_version_without_a_daemon(e2e: E2e, stage: Stage) -> None:
    """To ask for the version needs no daemon.

    Tutorial block:
        # does it answer?
        supervisorctl version
    """
    expect(e2e.run("supervisorctl version")).to_succeed().stdout.to_contain("daemon not reachable")


def test_status(e2e: E2e, shared: None) -> None:
    """With nothing to do, it says how to begin, and what it would run on.

    Tutorial block:
        # what is open, and what does it run on?
        supervisorctl status
    """
    status = e2e.run("supervisorctl status", comment="what is open?")
    expect(status).to_succeed().stdout.to_contain("no batch is open; `supervisorctl submit tests/e2e` makes one")
    expect(status.stdout).to_match(r"^POOL +PROVIDER +SLOTS").to_match(r"^local +local +0/4 ")


def test_status_without_a_daemon(e2e: E2e, stage: Stage) -> None:
    """Where no daemon is, the sentence says which one was looked for, and the hint how to start it.

    Tutorial block:
        # what is open, and what does it run on?
        supervisorctl status
    """
    nobody = e2e.run("supervisorctl status", comment="nobody is there")
    expect(nobody).to_have_exit_code(3).stderr.to_have_lines(f"error: no daemon listens on {stage.socket}")
    expect(nobody.stderr).to_match("^hint: ")


def test_another_daemon_beside_it(e2e: E2e, stage: Stage, shared: None) -> None:
    """It has a state and a socket of its own, and the first one knows nothing of it.

    Tutorial block:
        # to try things out, another daemon beside it, with a place of its own
        supervisord --state-dir ~/trial/state --socket ~/trial/ctl.sock &
    """
    e2e.run("supervisord --state-dir ~/trial/state --socket ~/trial/ctl.sock &", keep_background=True)
    stage.until("the other daemon answers", lambda: (e2e.home / "trial" / "ctl.sock").exists())
    e2e.run("supervisorctl pause --socket ~/trial/ctl.sock", comment="to tell them apart")
    expect(e2e.run("supervisorctl status --socket ~/trial/ctl.sock")).stdout.to_contain(
        "paused: no agents are launched"
    )
    expect(e2e.run("supervisorctl status")).stdout.not_to_contain("paused")


def test_which_daemon_is_meant(e2e: E2e, stage: Stage) -> None:
    """The option is for one command, the variable for the whole shell.

    Tutorial block:
        # say which one you mean, for one command or for the whole shell
        supervisorctl status --socket ~/trial/ctl.sock
        export SUPERVISOR_SOCKET=~/trial/ctl.sock
        supervisorctl status
    """
    e2e.run("supervisord --state-dir ~/trial/state --socket ~/trial/ctl.sock &", keep_background=True)
    stage.until("the other daemon answers", lambda: (e2e.home / "trial" / "ctl.sock").exists())
    said = e2e.run(
        """
        supervisorctl status --socket ~/trial/ctl.sock
        export SUPERVISOR_SOCKET=~/trial/ctl.sock
        supervisorctl status
        """,
        comment="which one is meant?",
    )
    expect(said).to_succeed()
    assert said.stdout.count("no batch is open") == 2


def test_a_socket_that_was_left_behind(e2e: E2e, stage: Stage, installed: None) -> None:
    """A daemon that was killed is told from one that never was.

    Tutorial block:
        # say which one you mean, for one command or for the whole shell
        supervisorctl status --socket ~/trial/ctl.sock
        export SUPERVISOR_SOCKET=~/trial/ctl.sock
        supervisorctl status
    """
    daemon = stage.start()
    e2e.run('kill -9 "$daemon"', comment="a crash")
    daemon.wait()
    left = e2e.run("supervisorctl status", comment="its socket is still there")
    expect(left).to_have_exit_code(3).stderr.to_contain("is not running")
