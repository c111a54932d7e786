"""`e2e.run`: one deadline for everything, nothing left behind, no byte that can break it."""

import os
import threading
import time
from pathlib import Path

import pytest

from supervisor.e2e import E2e, expect
from supervisor.e2e.processes import children, environment_value, is_alive


def test_background_child_does_not_hold_up_the_command(e2e: E2e) -> None:
    """`sleep 8 &` keeps the pipe open; the command has ended all the same, and says what it left."""
    result = e2e.run("echo hi; sleep 8 &", timeout=6)
    expect(result).to_succeed().to_take_less_than(4).stdout.to_equal("hi\n")
    (left,) = result.background
    assert left.command == "sleep 8"
    assert not is_alive(left.pid)


def test_child_in_a_session_of_its_own_ends_with_the_deadline(e2e: E2e) -> None:
    result = e2e.run("setsid --wait sleep 30; echo never", timeout=0.5)
    expect(result).to_time_out().to_have_exit_code(124).to_take_less_than(10)
    assert [process.command for process in result.background] == ["sleep 30"]
    assert not any(is_alive(process.pid) for process in result.background)


def test_daemon_that_forked_twice_and_cleared_its_environment_is_found(e2e: E2e) -> None:
    result = e2e.run("env -i setsid --fork sleep 30; echo done")
    assert [process.command for process in result.background] == ["sleep 30"]
    assert not is_alive(result.background[0].pid)


def test_process_that_ignores_sigterm_is_killed(e2e: E2e) -> None:
    result = e2e.run("trap '' TERM; while :; do sleep 0.05; done", timeout=0.3)
    expect(result).to_time_out().to_be_killed_by("SIGKILL")


def test_short_leftover_may_finish_its_work(e2e: E2e) -> None:
    """A process substitution outlives the shell by a moment; its output counts, and it is not a leftover."""
    expect(e2e.run("echo hi > >(cat)")).to_leave_nothing_behind().stdout.to_equal("hi\n")


def test_kept_background_lives_until_the_test_asks(e2e: E2e) -> None:
    result = e2e.run("sleep 30 & echo started", keep_background=True)
    (kept,) = result.background
    assert is_alive(kept.pid)
    expect(e2e.run(f"kill {kept.pid}")).to_succeed()


def test_no_zombie_of_a_command_stays(e2e: E2e) -> None:
    before = children("self")
    e2e.run("for i in 1 2 3; do setsid --fork sleep 30; done", timeout=5)
    assert not {pid for pid in children("self") - before if environment_value(pid, "E2E_RUN_ID")}


def test_bad_utf8_costs_nothing_but_itself(e2e: E2e) -> None:
    expect(e2e.run(r"printf 'ok\n\377after\n'")).to_succeed().stdout.to_equal("ok\n�after\n")


def test_300_kb_after_a_bad_byte_arrive(e2e: E2e) -> None:
    result = e2e.run(r"printf '\377'; head -c 300000 /dev/zero | tr '\0' x", timeout=20)
    expect(result).to_succeed().stdout.to_have_length(300_001)


def test_character_split_between_two_writes_stays_whole(e2e: E2e) -> None:
    result = e2e.run(r"printf '\303'; sleep 0.05; printf '\251\n'")
    expect(result).stdout.to_equal("é\n")


def test_killed_by_signal_is_said_by_name(e2e: E2e) -> None:
    result = e2e.run("kill -9 $$")
    expect(result).to_fail().to_have_exit_code(137).to_be_killed_by("SIGKILL")


def test_commands_are_bash(e2e: E2e) -> None:
    expect(e2e.run("[[ a == a ]] && echo $((1 + 1))")).to_succeed().stdout.to_equal("2\n")


def test_shell_can_be_strict(e2e: E2e) -> None:
    expect(e2e.run("false | true")).to_succeed()
    e2e.shell = ("bash", "-o", "pipefail", "-c")
    expect(e2e.run("false | true")).to_fail()


def test_output_is_not_touched(e2e: E2e) -> None:
    """No newline is invented, no carriage return becomes one."""
    expect(e2e.run("printf abc")).stdout.to_equal("abc")
    expect(e2e.run(r"printf '1%%\r2%%\r3%%'")).stdout.to_equal("1%\r2%\r3%")


def test_standard_input_is_closed_unless_given(e2e: E2e) -> None:
    expect(e2e.run("cat", timeout=5)).to_succeed().stdout.to_be_empty()
    expect(e2e.run("cat", stdin="héllo")).stdout.to_equal("héllo")
    expect(e2e.run("wc -c", stdin=b"\xff" * 300_000)).stdout.to_contain("300000")


def test_streams_are_apart_and_together(e2e: E2e) -> None:
    result = e2e.run("echo a; sleep 0.05; echo b >&2; sleep 0.05; echo c")
    assert (result.stdout, result.stderr, result.output) == ("a\nc\n", "b\n", "a\nb\nc\n")


def test_long_output_is_whole_on_disk_and_capped_in_memory(e2e: E2e) -> None:
    result = e2e.run("seq 400000")
    assert result.truncated
    assert len(result.stdout) < 1_100_000
    expect(result).stdout.to_match(r"\A1\n2\n").to_match(r"\n400000\n\Z").to_contain("left out")
    assert result.stdout_path is not None
    assert result.stdout_path.read_text() == "".join(f"{n}\n" for n in range(1, 400_001))


def test_endless_output_ends_with_the_deadline(e2e: E2e) -> None:
    expect(e2e.run("yes & yes", timeout=0.5)).to_time_out().to_take_less_than(10)


def test_environment_is_made_from_nothing(e2e: E2e) -> None:
    """What the developer has exported does not reach the command; what the test adds does."""
    os.environ["E2E_DEVELOPER_SETTING"] = "1"
    try:
        e2e.env["ADDED"] = "here"
        result = e2e.run('echo "$TZ $LC_ALL $ADDED $ONCE ${E2E_DEVELOPER_SETTING-unset}"', env={"ONCE": "now"})
        expect(result).stdout.to_equal("UTC C.UTF-8 here now unset\n")
    finally:
        del os.environ["E2E_DEVELOPER_SETTING"]


def test_home_and_directory_are_private(e2e: E2e) -> None:
    expect(e2e.run('echo "$HOME"; pwd; ls -A')).stdout.to_equal(f"{e2e.home}\n{e2e.cwd}\n")
    assert str(Path.home()) != str(e2e.home)
    (e2e.cwd / "sub").mkdir()
    expect(e2e.run("pwd", cwd="sub")).stdout.to_equal(f"{e2e.cwd}/sub\n")


def test_command_in_a_terminal(e2e: E2e) -> None:
    result = e2e.run("test -t 0 && test -t 1 && tty && stty size", tty=True)
    expect(result).to_succeed().stdout.to_match(r"/dev/pts/\d+").to_contain("40 120")
    assert result.cast is not None
    expect(result.cast).to_contain("/dev/pts/")


class _Interrupted(BaseException):
    """Like a Ctrl-C, or a timeout that is raised into the test."""


def test_any_exception_ends_what_runs(e2e: E2e) -> None:
    """Here the exception comes from the code that listens to the output."""
    from supervisor.e2e.budget import Budget
    from supervisor.e2e.environment import Home
    from supervisor.e2e.results import TestRecord
    from supervisor.e2e.session import E2e as Session

    class Hears(Session):
        def hear(self, *_: object) -> None:
            raise _Interrupted

    home = Home.make()
    directory = e2e.cwd / "record"
    directory.mkdir()
    session = Hears(TestRecord("t", directory, 1), Budget(time.monotonic()), home)
    try:
        with pytest.raises(_Interrupted):
            session._run(session._launch("echo $$; exec sleep 30", "", 20, None, None), session.hear)
    finally:
        session.close()
        home.remove()
    transcript = (directory / "transcript.txt").read_text()
    pid = int(transcript.splitlines()[1])
    assert not is_alive(pid)
    assert "killed: _Interrupted" in transcript


def test_commands_in_threads_do_not_mix(e2e: E2e) -> None:
    """Each has its own processes and its own transcript."""
    results: list[str] = []

    def run(word: str) -> None:
        results.append(e2e.run(f"for i in 1 2 3; do echo {word}; sleep 0.02; done; sleep 9 &").stdout)

    threads = [threading.Thread(target=run, args=(word,)) for word in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["a\n" * 3, "b\n" * 3, "c\n" * 3]


def test_directory_that_is_not_there_is_an_error_of_the_test(e2e: E2e) -> None:
    with pytest.raises(FileNotFoundError):
        e2e.run("true", cwd="nowhere")
    expect(e2e.run("true")).to_succeed()
