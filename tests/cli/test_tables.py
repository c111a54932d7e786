"""Tables: plain where a program reads, as wide as the terminal where a person does, and harmless in both."""

import asyncio
import os
import pty
import re
from pathlib import Path

import pytest

from supervisor.cli.tables import MOST_DRAWN, table
from tests.cli.running import BIN, ctl, environment
from tests.control.served import served

HOSTILE = "tests/test_it.py::test[\x1b[2J[red]x[/red] :bomb: \u202e测试  é\t{}]"
LONG = "tests/test_it.py::test[" + "long-" * 40 + "end]"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


async def on_terminal(home: Path, socket: Path, *words: str, **env: str) -> str:
    """What a terminal gets."""
    ours, theirs = pty.openpty()
    said = bytearray()
    try:
        running = await asyncio.create_subprocess_exec(
            *(str(BIN / "supervisorctl"), *words),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(home, **{"SUPERVISOR_SOCKET": str(socket), "TERM": "xterm-256color"} | env),
        )
        os.close(theirs)
        await asyncio.to_thread(_drain, ours, said)
        assert await running.wait() == 0
    finally:
        os.close(ours)
    return said.decode().replace("\r\n", "\n")


def _drain(fd: int, into: bytearray) -> None:
    """Until nobody writes any more, which Linux tells as an error."""
    try:
        while piece := os.read(fd, 65536):
            into += piece
    except OSError:
        pass


async def test_where_a_program_reads_each_row_is_a_line_of_fields_that_can_be_told_apart(tmp_path: Path) -> None:
    """Two spaces or more between two columns and nowhere else, a dash for nothing, nothing cut, no colour."""
    async with served(tmp_path) as api:
        await api.submit(HOSTILE, LONG, batch="kaaaa")
        ran = await ctl(tmp_path, "jobs", COLUMNS="40", FORCE_COLOR="1", TERM="xterm-256color")
    head, first, second = (re.split(" {2,}", line) for line in ran.out.splitlines())
    assert head == ["ID", "STATE", "OUTCOME", "ATTEMPTS", "POOL", "TEST"]
    assert [len(first), len(second)] == [len(head)] * 2
    assert first[:1] + first[2:3] == ["kaaaa.1", "-"]
    assert first[-1] == "tests/test_it.py::test[�[2J[red]x[/red] :bomb: �测试 é�{}]"
    assert second[-1] == LONG


async def test_on_a_terminal_a_table_is_as_wide_as_it_is_and_loses_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.submit(HOSTILE, LONG, batch="kaaaa")
        shown = await on_terminal(tmp_path, api.socket, "jobs", COLUMNS="70")
    lines = [ESCAPE.sub("", line) for line in shown.splitlines()]
    assert max(map(len, lines)) <= 70
    told = "".join(line.split("  ")[-1].strip() for line in lines)
    assert LONG in told
    assert "[red]x[/red]" in told
    assert "\x1b[1m" in shown, "titles are bold"


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
async def test_colours_can_be_unwanted(tmp_path: Path, env: dict[str, str]) -> None:
    async with served(tmp_path) as api:
        await api.submit(HOSTILE, batch="kaaaa")
        shown = await on_terminal(tmp_path, api.socket, "jobs", "kaaaa", **env)
    assert "kaaaa.1" in shown
    assert "\x1b" not in shown


def test_columns_are_aligned_by_what_a_terminal_shows() -> None:
    """A wide character takes two cells, a combining one none."""
    shown = table(("test", "state"), [("测试", "a"), ("e\u0301t", "b"), ("", "c")])
    assert shown.splitlines() == ["TEST  STATE", "测试  a", "e\u0301t    b", "-     c"]


@pytest.mark.parametrize("rows", [0, MOST_DRAWN + 1])
def test_any_number_of_rows(rows: int) -> None:
    assert len(table(("a", "b"), [("x", 0)] * rows).splitlines()) == rows + 1
