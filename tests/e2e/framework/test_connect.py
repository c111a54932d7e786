"""Attaching to an agent by mngr's own hook: recorded by asciinema, or loudly without."""

import json
import sys
from pathlib import Path

import pytest

from supervisor.e2e import E2e, casts, expect

MNGR = """#!/bin/bash
[ "$1" = conn ] || exit 2
echo "attached to $2"; exec sleep 60
"""
ASCIINEMA = """#!/bin/bash
[ "$1" = --version ] && { echo "asciinema VERSION"; exit; }
printf '%s\\n' "$*" >"${@: -1}"
"""


def install(e2e: E2e, name: str, script: str) -> None:
    path = e2e.home / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    e2e.env["PATH"] = f"{path.parent}:{e2e.env['PATH'].removeprefix(f'{path.parent}:')}"


@pytest.fixture
def with_mngr(e2e: E2e) -> E2e:
    install(e2e, "mngr", MNGR)
    e2e.env |= {"MNGR_AGENT_NAME": "my-task", "MNGR_SESSION_NAME": "mngr-my-task", "MNGR_HOST_IS_LOCAL": "true"}
    return e2e


def test_without_asciinema_it_records_all_the_same_and_says_so(with_mngr: E2e) -> None:
    e2e = with_mngr
    result = e2e.run(e2e.connect_command)
    expect(result).to_succeed().to_leave_nothing_behind().to_take_less_than(20)
    expect(result).stderr.to_contain("asciinema 3 is not installed").to_contain("my-task.cast")
    expect(e2e.directory / "my-task.cast").eventually().to_contain("attached to my-task")


def test_recording_goes_on_while_other_commands_run_and_never_overwrites(with_mngr: E2e) -> None:
    e2e = with_mngr
    for name in ("my-task.cast", "my-task-2.cast"):
        expect(e2e.run(e2e.connect_command)).to_succeed()
        expect(e2e.directory / name).eventually().to_contain("attached to my-task")
    expect(e2e.run("true")).to_leave_nothing_behind()


@pytest.mark.usefixtures("alone")
def test_recording_is_complete_when_the_test_ends(pytester: pytest.Pytester) -> None:
    """Its exit event is there, and so is the result's mention of it."""
    pytester.makepyfile(
        f"""
        from supervisor.e2e import expect
        from pathlib import Path
        def test_it(e2e):
            bin = e2e.home / "mngr"
            bin.write_text({MNGR!r})
            bin.chmod(0o755)
            e2e.env["PATH"] = f"{{e2e.home}}:{{e2e.env['PATH']}}"
            e2e.run(e2e.connect_command, env={{"MNGR_AGENT_NAME": "a"}})
            expect(e2e.directory / "a.cast").eventually().to_contain("attached")
        """
    )
    pytester.runpytest_subprocess("-p", "supervisor_e2e", "--e2e-dir=out").assert_outcomes(passed=1)
    (path,) = Path("out").glob("*/attempt-1/a.cast")
    assert casts.read(path).events[-1].code == "x"
    assert json.loads((path.parent / "result.json").read_text())["casts"] == ["a.cast"]


@pytest.mark.parametrize(("version", "is_used"), [("3.0.1", True), ("2.4.0", False)])
def test_asciinema_is_used_when_it_can_record_without_a_terminal(with_mngr: E2e, version: str, is_used: bool) -> None:
    e2e = with_mngr
    install(e2e, "asciinema", ASCIINEMA.replace("VERSION", version))
    result = e2e.run(e2e.connect_command)
    expect(result).to_succeed()
    assert ("with asciinema" in result.stderr) == is_used
    wanted = "--headless" if is_used else "attached to my-task"
    expect(e2e.directory / "my-task.cast").eventually().to_contain(wanted)


def test_hostile_agent_names_stay_names(with_mngr: E2e) -> None:
    e2e = with_mngr
    expect(e2e.run(e2e.connect_command, env={"MNGR_AGENT_NAME": "../../x; touch pwned"})).to_succeed()
    expect(lambda: sorted(path.name for path in e2e.directory.glob("*.cast"))).eventually().to_equal(
        ["x--touch-pwned.cast"]
    )
    expect(e2e.directory / "x--touch-pwned.cast").eventually().to_contain("attached to ../../x; touch pwned")
    expect(e2e.cwd / "pwned").not_.to_exist()


def test_outside_a_test_it_says_what_is_missing(e2e: E2e) -> None:
    result = e2e.run(e2e.connect_command, env={"E2E_CASTS": "", "MNGR_AGENT_NAME": "a"})
    expect(result).to_have_exit_code(2).stderr.to_contain("E2E_CASTS")


@pytest.mark.real
def test_real_mngr_attaches_and_is_recorded(e2e: E2e) -> None:
    """`mngr create` returns as if somebody had attached, and the agent's terminal is seen in the recording."""
    e2e.keep_background = True
    e2e.env["PATH"] = f"{Path(sys.executable).parent}:{e2e.env['PATH']}"
    expect(e2e.run("git init -q . && git commit -q --allow-empty -m start")).to_succeed()
    agent = e2e.home / "agent.sh"
    agent.write_text("while :; do echo agent is at work; sleep 0.3; done\n")
    options = f"--type command --transfer none --yes --connect-command '{e2e.connect_command}'"
    created = e2e.run(f"mngr create my-task {options} -- bash {agent}", timeout=90, comment="Create an agent")
    expect(created).to_succeed().stderr.to_contain("recording `mngr conn my-task`")
    expect(e2e.directory / "my-task.cast").eventually(timeout=30).to_contain("agent is at work")
    expect(e2e.run("mngr destroy my-task --force", timeout=60)).to_succeed()
