"""Programs that stream and programs in terminals: waited for, typed at, looked at, recorded."""

import json
from pathlib import Path

import pytest

from supervisor.e2e import E2e, casts, expect, keys
from supervisor.e2e.processes import is_alive
from supervisor.e2e.ptys import Size
from supervisor.e2e.redact import Redactor
from supervisor.e2e.screens import Screen

SHELL = "PS1='ready> ' bash --norc --noprofile -i"


def test_spawned_command_is_waited_for_and_stopped(e2e: E2e) -> None:
    with e2e.spawn("echo starting; sleep 0.1; echo listening on 8080; sleep 60", comment="Serve") as server:
        assert server.wait_for(r"listening on (\d+)")[1] == "8080"
        assert server.is_running
    result = server.stop()
    expect(result).to_be_killed_by("SIGTERM").stdout.to_contain("starting")


def test_spawned_command_answers_what_is_sent(e2e: E2e) -> None:
    with e2e.spawn("while read line; do echo got $line; done; echo bye") as echo:
        echo.send("one\n")
        echo.wait_for("got one")
        expect(echo).to_contain("one").eventually().not_.to_contain("two")
        echo.close_input()
        expect(echo.wait()).to_succeed().stdout.to_contain("bye")


def test_waiting_in_vain_shows_what_was_printed(e2e: E2e) -> None:
    with e2e.spawn("echo other; sleep 60") as command, pytest.raises(AssertionError, match=r"(?s)within .*other"):
        command.wait_for("never", timeout=0.3)
    with e2e.spawn("echo other") as command, pytest.raises(AssertionError, match="before it ended"):
        command.wait_for("never", timeout=20)


def test_spawned_processes_end_with_their_command(e2e: E2e) -> None:
    with e2e.spawn("setsid sleep 60 & sleep 60 & echo $!; wait") as command:
        command.wait_for(r"\d+")
    assert sorted(process.command for process in command.stop().background) == []
    expect(e2e.run("pgrep -f '^sleep 60$' -s 0 || true")).stdout.to_be_empty()


def test_daemon_may_go_while_its_children_stay(e2e: E2e) -> None:
    """As an upgrade does it; what stayed is ended with the test."""
    daemon = e2e.spawn("setsid bash -c 'echo started; exec sleep 60' & sleep 60; true", keep_background=True)
    daemon.wait_for("started")
    (left,) = daemon.stop().background
    assert left.command == "sleep 60"
    assert is_alive(left.pid)


def test_terminal_is_typed_at_and_looked_at(e2e: E2e) -> None:
    shell = e2e.terminal(SHELL, comment="A shell of one's own")
    shell.wait_text("ready> ")
    shell.send("echo $((6 * 7))")
    shell.press("Enter")
    shell.wait_text(r"(?m)^42$")
    expect(shell.screen).to_have_lines("42").not_.to_contain("43")
    shell.press("Ctrl+D")
    expect(shell.wait()).to_succeed()


def test_resize_reaches_the_program(e2e: E2e) -> None:
    shell = e2e.terminal(SHELL, size=Size(100, 30))
    shell.wait_text("ready> ")
    shell.send("stty size\r")
    shell.wait_text("30 100")
    shell.resize(60, 20)
    shell.send("stty size; tput cols; echo ${COLUMNS-none}\r")
    shell.wait_text(r"20 60\n60\n60")


def test_keys_reach_the_program(e2e: E2e) -> None:
    shell = e2e.terminal(SHELL)
    shell.wait_text("ready> ")
    shell.send("echo first\r")
    shell.wait_text(r"(?m)^first\s+^ready> ")  # until then, keys are for the terminal
    shell.press("Up", "Backspace", "Backspace", "Enter")
    shell.wait_text(r"(?m)^fir$")
    shell.send("sleep 60\r")
    shell.wait_idle(0.2)
    shell.press("Ctrl+C")
    shell.send("echo $?\r")
    shell.wait_text("130")


def test_waiting_for_text_in_vain_shows_the_screen(e2e: E2e) -> None:
    terminal = e2e.terminal("echo on screen; sleep 60")
    with pytest.raises(AssertionError, match=r"(?s)did not show 'never'.*on screen"):
        terminal.wait_text("never", timeout=0.3)


def test_program_that_asks_the_terminal_gets_an_answer(e2e: E2e) -> None:
    """Where is the cursor? Programs wait for this, and hang where nobody says."""
    ask = r"""stty raw -echo; printf '\033[6n'; IFS= read -r -d R answer; stty sane; printf 'row%q\n' "$answer" """
    terminal = e2e.terminal(ask, timeout=20)
    terminal.wait_text("1;1")
    expect(terminal.wait()).to_succeed()


@pytest.mark.parametrize("version", [2, 3])
def test_recording_is_an_asciicast(e2e: E2e, version: int) -> None:
    terminal = e2e.terminal("echo hello; read line; echo bye", cast_version=version, comment="Greet")
    terminal.wait_text("hello")
    terminal.mark("greeted")
    terminal.resize(90, 25)
    terminal.send("x\r")
    result = terminal.wait()
    assert result.cast is not None
    cast = casts.read(result.cast)
    codes = [event.code for event in cast.events]
    assert [event.data for event in cast.events if event.code == "m"] == ["Greet", "greeted"]
    assert [event.data for event in cast.events if event.code in "ir"] == ["90x25", "x\r"]
    assert codes.count("x") == (1 if version == 3 else 0)
    assert [event.time for event in cast.events] == sorted(event.time for event in cast.events)
    header = json.loads(result.cast.read_text().splitlines()[0])
    assert header["version"] == version
    assert (cast.size, cast.started_at > 0) == (Size(120, 40), True)


def test_second_recording_of_a_name_does_not_overwrite_the_first(e2e: E2e) -> None:
    first, second = (e2e.run("echo same", tty=True).cast for _ in range(2))
    assert first is not None
    assert second is not None
    assert first != second
    expect(first).to_contain("same")


def test_recording_has_a_size_limit(tmp_path: Path) -> None:
    cast = casts.CastFile(tmp_path / "a.cast", Size(), "", Redactor())
    for _ in range(40):
        cast.output("x" * 2**20)
    cast.close(0)
    assert cast.path.stat().st_size < 35 * 2**20
    assert [event.code for event in casts.read(cast.path).events][-2:] == ["m", "x"]


def test_torn_recording_is_read_up_to_the_tear(tmp_path: Path) -> None:
    path = tmp_path / "a.cast"
    path.write_text(
        '{"version": 3, "term": {"cols": 10, "rows": 5}}\n[1, "o", "a"]\n# remark\n[0.5, "o", "b"]\n[1, "o'
    )
    assert [(event.time, event.data) for event in casts.read(path).events] == [(1, "a"), (1.5, "b")]


def test_screen_has_colours_and_a_second_page() -> None:
    screen = Screen(Size(20, 4))
    screen.feed("first\r\n\x1b[1;38;2;1;2;3;48;5;196mX\x1b[0m")
    cell = screen.cell(1, 0)
    assert (cell.text, cell.foreground, cell.background, cell.is_bold) == ("X", "010203", "ff0000", True)
    screen.feed("\x1b[?1049h\x1b[Hsecond")
    assert screen.lines[0] == "second"
    screen.feed("\x1b[?1049l")
    expect(screen).to_have_lines("first", "X").not_.to_contain("second")


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("Enter", "\r"),
        ("ctrl+c", "\x03"),
        ("Ctrl+Space", "\x00"),
        ("Alt+x", "\x1bx"),
        ("Ctrl+Right", "\x1b[1;5C"),
        ("Shift+Tab", "\x1b[Z"),
        ("Shift+a", "A"),
        ("F5", "\x1b[15~"),
        ("+", "+"),
        ("é", "é"),
    ],
)
def test_keys(key: str, sent: str) -> None:
    assert keys.sequence(key) == sent


def test_cursor_keys_follow_the_program_s_mode() -> None:
    assert keys.sequence("Up", has_application_cursor_keys=True) == "\x1bOA"
    with pytest.raises(keys.NoSuchKey, match="Meta"):
        keys.sequence("Meta+x")
