"""Whoever starts the demo, a bench or the tests inside tmux keeps their tmux server, and all that runs in it."""

import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from supervisor.adapters.private_tmux import PrivateTmux
from tests.waiting import until_sync

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
#: what makes tmux servers of its own and ends them, each at its smallest
STARTED = (
    ("-c", "from supervisor.cli.main import main; main()", "demo", "tests/e2e/test_tags.py::test_list_by_tag"),
    ("-m", "bench.jobs", "--jobs", "1", "--slots", "1", "--work", "0"),
    ("-m", "pytest", "-q", "tests/daemon/test_real.py", "-k", "cancelled_job_is_rescued"),
)


class User:
    """A tmux server that stands for a person's own, with something that runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tmux = folder, PrivateTmux(folder / "users" / "socket")

    def ask(self, *words: str) -> str:
        done = self.tmux.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def facts(self) -> str:
        """The server's process, and every pane with its own."""
        server = self.ask("display-message", "-p", "#{pid} #{start_time}")
        return server + self.ask("list-panes", "-a", "-F", "#{session_name} #{pane_id} #{pane_pid} #{pane_dead}")

    def runs(self, number: int, words: tuple[str, ...]) -> Path:
        """What is typed into the shell of a pane, with its end in a file."""
        log = self.folder / f"{number}.log"
        script = f"{shlex.join([sys.executable, *words])} >{log} 2>&1; echo $? >{log}.code"
        self.ask("send-keys", "-t", "work", script, "Enter")
        return log


@contextmanager
def user() -> Iterator[User]:
    with tempfile.TemporaryDirectory(prefix="sv-user-", dir="/tmp") as folder:  # a socket's path may not be long
        made = User(Path(folder))
        try:
            made.ask("new-session", "-d", "-s", "theirs", "sleep 3600")
            made.ask("new-session", "-d", "-s", "work", "-c", str(ROOT), "sh")
            yield made
        finally:
            made.tmux.end()


def test_demo_bench_and_tests_inside_tmux_leave_its_server_alone() -> None:
    with user() as here:
        before = here.facts()
        for number, words in enumerate(STARTED):
            log = here.runs(number, words)
            until_sync(f"{words} ends", Path(f"{log}.code").exists, 300)
            assert Path(f"{log}.code").read_text() == "0\n", log.read_text()[-3000:]
            assert here.facts() == before, words
