"""The configuration: a file, what it comes to, and changing it while agents work."""

import pytest

from supervisor.e2e import E2e, expect
from tests.e2e.supervisorctl.stage import Stage

FILE = """
cat > ~/supervisor.toml <<'END'
[[pools]]
name = "local"
slots = 2

[[pools]]
name = "modal"
provider = "modal"
slots = 100
build_args = ["--timeout=14400"]

[profiles.modal]
inherits = "default"
pools = ["modal"]

[profiles.overnight]
inherits = "default"
window = "22:00-06:00"
slots = 1
END
"""


@pytest.fixture
def file(e2e: E2e, stage: Stage) -> None:
    expect(e2e.run(FILE, comment="a file adds pools of agents and profiles of work")).to_succeed()


def test_a_file(e2e: E2e, file: None) -> None:
    """Pools and profiles are what the file says.

    Tutorial block:
        # a file adds pools of agents and profiles of work; config/default.toml has every key
        cat > ~/supervisor.toml <<'END'
        [[pools]]
        name = "local"
        slots = 2

        [[pools]]
        name = "modal"
        provider = "modal"
        slots = 100
        build_args = ["--timeout=14400"]

        [profiles.modal]
        inherits = "default"
        pools = ["modal"]

        [profiles.overnight]
        inherits = "default"
        window = "22:00-06:00"
        slots = 1
        END
    """
    shown = e2e.run("supervisorctl config show ~/supervisor.toml --json")
    expect(shown).stdout.to_match_json("config.profiles.modal.pools", ["modal"])
    expect(shown).stdout.to_match_json("config.profiles.overnight", {"window": "22:00-06:00", "agent": "claude"})


def test_check(e2e: E2e, file: None) -> None:
    """A file that can be used: its pools and profiles are named.

    Tutorial block:
        # could a daemon start with it? a key that is misspelt is named, and the one that was meant
        supervisorctl config check ~/supervisor.toml
    """
    checked = e2e.run("supervisorctl config check ~/supervisor.toml", comment="could a daemon start with it?")
    expect(checked).to_succeed().stdout.to_contain("local (2 slots), modal (100 slots)", "default, modal, overnight")


def test_check_of_a_misspelt_key(e2e: E2e, file: None) -> None:
    """The key is named with the file, and the one that was meant.

    Tutorial block:
        # could a daemon start with it? a key that is misspelt is named, and the one that was meant
        supervisorctl config check ~/supervisor.toml
    """
    e2e.run("sed -i s/inherits/inherit/ ~/supervisor.toml", comment="a typing error")
    checked = e2e.run("supervisorctl config check ~/supervisor.toml")
    expect(checked).to_have_exit_code(2).stderr.to_match(
        "^error: .*/supervisor.toml: profiles.modal.inherit is not a key"
    )
    expect(checked.stderr).to_have_lines("hint: did you mean `inherits`?")


def test_show(e2e: E2e, file: None) -> None:
    """Each value has its origin.

    Tutorial block:
        # what does it come to? every key with its value, and where that is from
        supervisorctl config show ~/supervisor.toml --origin
    """
    shown = e2e.run("supervisorctl config show ~/supervisor.toml --origin", comment="what does it come to?")
    expect(shown).to_succeed().stdout.to_match(
        r'^profiles\.overnight\.window = "22:00-06:00" +# file .*/supervisor\.toml$'
    )
    expect(shown.stdout).to_match(r"^profiles\.overnight\.retries = 1 +# default or inherited$")
    expect(shown.stdout).to_match(r"^socket = .* # environment$")


def test_show_of_a_file_that_is_not_there(e2e: E2e, stage: Stage) -> None:
    """A file that was asked for must be there; the usual one need not.

    Tutorial block:
        # what does it come to? every key with its value, and where that is from
        supervisorctl config show ~/supervisor.toml --origin
    """
    e2e.run("rm ~/supervisor.toml", comment="it is not there")
    shown = e2e.run("supervisorctl config show ~/supervisor.toml --origin")
    expect(shown).to_have_exit_code(2).stderr.to_match("^error: there is no configuration file .*/supervisor.toml$")


def test_the_environment_wins(e2e: E2e, file: None) -> None:
    """A variable is stronger than the file.

    Tutorial block:
        # the environment wins over the file
        SUPERVISOR_VERIFY_SLOTS=3 supervisorctl config show ~/supervisor.toml --origin | grep verify_slots
    """
    e2e.run("sed -i '1i verify_slots = 7' ~/supervisor.toml", comment="the file has it too")
    command = "SUPERVISOR_VERIFY_SLOTS=3 supervisorctl config show ~/supervisor.toml --origin | grep verify_slots"
    expect(e2e.run(command)).to_succeed().stdout.to_match("^verify_slots = 3 +# environment$")


def test_a_variable_that_is_none(e2e: E2e, file: None) -> None:
    """A variable that is nearly a key is a typing error, and not ignored.

    Tutorial block:
        # the environment wins over the file
        SUPERVISOR_VERIFY_SLOTS=3 supervisorctl config show ~/supervisor.toml --origin | grep verify_slots
    """
    refused = e2e.run("SUPERVISOR_VERIFY_SLOT=3 supervisorctl config show ~/supervisor.toml")
    expect(refused).to_have_exit_code(2).stderr.to_contain("did you mean SUPERVISOR_VERIFY_SLOTS?")


def test_show_for_a_program(e2e: E2e, file: None) -> None:
    """All of it is JSON.

    Tutorial block:
        # the same for a program
        supervisorctl config show ~/supervisor.toml --json | jq '.config.profiles | keys'
    """
    names = e2e.run("supervisorctl config show ~/supervisor.toml --json | jq '.config.profiles | keys'")
    expect(names).to_succeed().stdout.json().to_equal(["default", "modal", "overnight"])


def test_doctor_looks_at_what_a_configuration_needs(e2e: E2e, file: None) -> None:
    """The mngr that it names is asked, not the one on PATH.

    Tutorial block:
        # is all there that this configuration needs?
        supervisorctl doctor --config ~/supervisor.toml
    """
    fine = e2e.run("supervisorctl doctor --config ~/supervisor.toml")
    expect(fine).to_succeed().stdout.to_match("^ok +mngr")
    e2e.run("printf '[mngr]\\ncommand = \"/nowhere/mngr\"\\n' >> ~/supervisor.toml", comment="another mngr")
    found = e2e.run("supervisorctl doctor --config ~/supervisor.toml")
    expect(found).to_have_exit_code(1).stdout.to_contain("/nowhere/mngr can't be run")


def test_doctor_judges_what_the_running_daemon_has(e2e: E2e, stage: Stage, file: None) -> None:
    """Whoever asks may find another file, and have another environment: the daemon says what it runs with.

    Tutorial block:
        # is all there that the daemon and its agents need? each finding says what to do about it
        supervisorctl doctor
    """
    e2e.run("printf '[profiles.default]\\nenv = { API_KEY = \"hunter2-horse\" }\\n' >> ~/supervisor.toml")
    stage.start()
    stage.uninstall_mngr()
    found = e2e.run("supervisorctl doctor", comment="with another mngr in this environment")
    expect(found).to_succeed().stdout.to_match("^ok +config +.* of the running daemon: file .*/supervisor.toml")
    expect(found).stdout.to_match("^ok +mngr +mngr 0.3.0$")
    e2e.run("curl -s --unix-socket $SUPERVISOR_SOCKET http://x/v1/configuration > told")
    expect(stage.repo / "told").to_contain('"API_KEY":"(hidden)"')
    named = e2e.run("supervisorctl doctor --config ~/supervisor.toml", comment="that of a file")
    expect(named).to_have_exit_code(1).stdout.to_contain("checking the configuration of file ")


def test_start_with_it(e2e: E2e, stage: Stage, file: None) -> None:
    """The daemon has the pools of the file, and `daemon` is its process.

    Tutorial block:
        # start with it; `daemon` will be needed to stop it
        supervisord --config ~/supervisor.toml &
        daemon=$!
    """
    started = e2e.run(
        """
        supervisord --config ~/supervisor.toml &
        daemon=$!
        echo "$daemon"
        """,
        comment="start with it",
        keep_background=True,
    )
    assert [int(started.stdout)] == [process.pid for process in started.background]
    stage.answers()
    expect(e2e.run("supervisorctl status")).stdout.to_match("^local +local +0/2 ").to_match("^modal +modal +0/100 ")


def test_start_with_a_file_that_can_not_be_used(e2e: E2e, file: None) -> None:
    """It does not start, and says why.

    Tutorial block:
        # start with it; `daemon` will be needed to stop it
        supervisord --config ~/supervisor.toml &
        daemon=$!
    """
    e2e.run("echo '[profiles' >> ~/supervisor.toml", comment="a bracket is missing")
    started = e2e.run("supervisord --config ~/supervisor.toml")
    expect(started).to_have_exit_code(2).stderr.to_match("^supervisord: .*/supervisor.toml is not TOML: ")


def test_reload(e2e: E2e, stage: Stage, file: None) -> None:
    """More slots, without a restart; when nothing is new, it says so.

    Tutorial block:
        # the file may change while agents work
        sed -i 's/^slots = 2/slots = 6/' ~/supervisor.toml
        supervisorctl reload
    """
    stage.start()
    e2e.run("sed -i 's/^slots = 2/slots = 6/' ~/supervisor.toml", comment="six agents at a time")
    expect(e2e.run("supervisorctl reload")).to_succeed().stdout.to_contain("the new configuration is in force")
    expect(e2e.run("supervisorctl status")).stdout.to_match("^local +local +0/6 ")
    expect(e2e.run("supervisorctl reload")).to_succeed().stdout.to_contain("the configuration has not changed")


def test_reload_of_a_file_that_can_not_be_used(e2e: E2e, stage: Stage, file: None) -> None:
    """The last good configuration stays.

    Tutorial block:
        # the file may change while agents work
        sed -i 's/^slots = 2/slots = 6/' ~/supervisor.toml
        supervisorctl reload
    """
    stage.start()
    e2e.run("sed -i 's/^slots = 2/slots = many/' ~/supervisor.toml", comment="a slip")
    expect(e2e.run("supervisorctl reload")).to_have_exit_code(2).stderr.to_contain("supervisor.toml is not TOML")
    expect(e2e.run("supervisorctl status")).stdout.to_match("^local +local +0/2 ")
