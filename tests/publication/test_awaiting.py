"""What a host is asked to wait for, run by a real shell, and what is believed of its answer."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from supervisor.adapters.layout import PUBLISHED
from supervisor.ports import Picture
from supervisor.publication.awaiting import pictured, waiting
from tests.waiting import until_sync

ONE, TWO = (f"agent-{digit * 32}" for digit in "12")


class Host:
    """The state directories of two agents, the first of which is asked by, and a tmux that knows both."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder, folder / "bin"
        self.bin.mkdir()
        for agent in (ONE, TWO):
            (folder / "agents" / agent / "supervisor").mkdir(parents=True)
            self.put(agent, "active")
        self.running(ONE, TWO)

    def put(self, agent: str, name: str) -> None:
        (self.folder / "agents" / agent / name).touch()

    def running(self, *agents: str) -> None:
        """In panes whose process has a child, as this one has while it asks."""
        tmux = self.bin / "partial"
        tmux.write_text("#!/bin/sh\n" + "".join(f"echo {agent} {os.getpid()} 0\n" for agent in agents))
        tmux.chmod(0o755)
        tmux.rename(self.bin / "tmux")

    @contextmanager
    def asked(self, last: Picture, seconds: float = 60) -> Iterator[subprocess.Popen[str]]:
        env = {"PATH": f"{self.bin}:/usr/bin:/bin", "MNGR_AGENT_STATE_DIR": str(self.folder / "agents" / ONE)}
        command = ["sh", "-c", waiting(last, seconds)]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as asking:
            try:
                yield asking
            finally:
                asking.kill()

    def says(self, last: Picture, seconds: float = 60) -> Picture | None:
        with self.asked(last, seconds) as asking:
            return pictured(asking.communicate(timeout=30)[0])


def test_what_each_agent_has_come_to(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.put(ONE, PUBLISHED)
    host.put(TWO, "permissions_waiting")
    (tmp_path / "agents" / TWO / "active").unlink()
    host.running(ONE)

    seen = host.says(Picture())

    assert seen is not None
    assert seen.signs == {ONE: {"published"}, TWO: {"asks", "waits", "gone"}}


def test_it_answers_when_something_is_new(tmp_path: Path) -> None:
    """And not before: what is known already is no news."""
    host = Host(tmp_path)
    before = host.says(Picture())
    assert before is not None
    assert host.says(before, seconds=1) == before

    with host.asked(before) as asking:
        until_sync("it waits", lambda: any(Path(f"/proc/{asking.pid}/task/{asking.pid}/children").read_text()))
        assert asking.poll() is None
        host.put(TWO, PUBLISHED)
        seen = pictured(asking.communicate(timeout=30)[0])

    assert seen is not None
    assert seen.signs == {ONE: set(), TWO: {"published"}}


def test_of_a_host_without_tmux_nobody_is_called_gone(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (host.bin / "tmux").write_text("#!/bin/sh\nexit 127\n")
    (host.bin / "tmux").unlink()
    for name in ("sh", "cksum", "sleep", "echo"):
        (host.bin / name).symlink_to(f"/usr/bin/{name}")
    env = {"PATH": str(host.bin), "MNGR_AGENT_STATE_DIR": str(tmp_path / "agents" / ONE)}
    said = subprocess.run(["/bin/sh", "-c", waiting(Picture())], env=env, capture_output=True, text=True, check=True)

    seen = pictured(said.stdout)

    assert seen is not None
    assert seen.signs == {ONE: set(), TWO: set()}


def test_where_it_can_not_look_it_says_nothing(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (tmp_path / "agents").rename(tmp_path / "elsewhere")

    assert host.says(Picture()) is None


@given(st.text() | st.from_regex(r"\d+ \d+\n(agent-[0-9a-f]{32} -[pawgx]*\n){0,3}looked", fullmatch=True))
def test_nothing_that_a_host_prints_is_more_than_signs_of_agents(said: str) -> None:
    """What goes back to it in the next question is a sum of digits, whatever was printed."""
    seen = pictured(said)

    if seen is not None:
        assert seen.sum.replace(" ", "").isdecimal()
        assert "'" not in seen.sum
        assert all(len(agent) == len(ONE) for agent in seen.signs)
