"""What people get wrong: each ends in one sentence and a hint, with its exit code, and never in a traceback."""

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agent_clone import git
from tests.cli.running import BIN, Ran, ctl
from tests.control.served import Served, served


@dataclass(frozen=True)
class Mistake:
    args: str
    code: int
    says: str
    #: what has gone wrong before
    before: Callable[[Served], object] = lambda api: None
    #: where it is made, from the home
    where: str = "target"


def bare(api: Served) -> None:
    git(api.repo.parent, "init", "-q", "--bare", "bare")


def empty(api: Served) -> None:
    git(api.repo.parent, "init", "-q", "empty")


def committed(name: str, text: str) -> Callable[[Served], None]:
    def commit(api: Served) -> None:
        (api.repo / name).write_text(text)
        git(api.repo, "add", ".")
        git(api.repo, "commit", "-q", "-m", name)

    return commit


UNIMPORTABLE = committed("test_x.py", "import nothing_like_it")
ENDLESS = committed("conftest.py", "import signal\nsignal.pause()")
MISSPELT = committed("c.toml", 'stat_dir = "/"')


def full(api: Served) -> None:
    api.journal.is_full = True


MISTAKES = {
    "a batch that is not there": Mistake("status zzz", 5, "there is no batch zzz"),
    "too short an id": Mistake("status k", 4, "matches several batches: kaaaa, kabbb"),
    "a job without a number": Mistake("job kaaaa", 5, "kaaaa is not a job"),
    "a job beyond the last": Mistake("job kaaaa.9", 5, "has no job 9"),
    "cancelling a job that is not there": Mistake("cancel kaaaa.9", 5, "has no job 9"),
    "a pool that is not there": Mistake("slots moon 3", 5, "there is no pool moon"),
    "a path that is not there": Mistake("submit tests/nowhere", 5, "tests/nowhere does not exist"),
    "a path outside the repository": Mistake("submit /", 5, "/ is not in the repository"),
    "a directory that is not there": Mistake("submit --repo /nowhere", 5, "there is no directory /nowhere"),
    "no git repository": Mistake("submit", 4, "is not a git repository", where="."),
    "a bare repository": Mistake("submit", 4, "is a bare repository", bare, "bare"),
    "a repository without a commit": Mistake("submit", 4, "has no commit yet", empty, "empty"),
    "uncommitted work": Mistake("submit", 4, "uncommitted work: new.py", lambda api: (api.repo / "new.py").touch()),
    "no tests": Mistake("submit test_none.py", 4, "pytest collected no tests", committed("test_none.py", "")),
    "no test that fits": Mistake("submit -- -k nowhere", 4, "pytest collected no tests"),
    "a test that can't be imported": Mistake("submit", 4, "pytest failed to collect tests", UNIMPORTABLE),
    "an argument pytest does not know": Mistake("submit -- --wat", 4, "pytest failed to collect tests"),
    "a profile that is not there": Mistake("submit --profile moon", 5, "there is no profile moon"),
    "a pytest that is not there": Mistake("submit --profile nowhere", 4, "/nowhere/python can't be run"),
    "an environment without pytest": Mistake("submit --profile bare", 4, "python3 has no pytest installed"),
    "collecting without an end": Mistake(
        "submit --profile hasty",
        4,
        "did not finish collecting within 0.5",
        ENDLESS,
    ),
    "a full disk": Mistake("pause", 1, "no space left on device", full),
    "a configuration that is not there": Mistake("config check nowhere.toml", 2, "there is no configuration file"),
    "a configuration that is no TOML": Mistake("config check README.md", 2, "is not TOML"),
    "a key that is none": Mistake(
        "config check c.toml",
        2,
        "stat_dir is not a key",
        MISSPELT,
    ),
    "a variable that is none": Mistake("config check --socket x", 2, "SUPERVISOR_STATEDIR is not a setting"),
    "no daemon": Mistake("status --socket /nowhere/ctl.sock", 3, "no daemon listens on /nowhere/ctl.sock"),
    "a socket that is none": Mistake("status --socket README.md", 3, "the daemon of README.md is not running"),
    "a socket path that is too long": Mistake("status --socket " + "x" * 200, 3, "can't reach the daemon"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
async def test_a_mistake_ends_in_a_sentence_and_a_hint(tmp_path: Path, mistake: Mistake) -> None:
    async with served(tmp_path) as api:
        if mistake.args.startswith("status k"):
            await api.submit("tests/test_it.py::test_one", batch="kabbb")
        if "kaaaa" in mistake.args or mistake.args == "status k":
            await api.submit("tests/test_it.py::test_one", batch="kaaaa")
        mistake.before(api)
        wrong = {"SUPERVISOR_STATEDIR": "/x"} if "STATEDIR" in mistake.says else {}
        ran = await ctl(tmp_path, *mistake.args.split(), cwd=tmp_path / mistake.where, **wrong)
        ran.refused(mistake.code, mistake.says)


@pytest.mark.parametrize(
    "args",
    ["", "statu", "status --wat", "job", "slots", "slots x", "slots -1", "wait --timeout -1", "completion tcsh"],
)
async def test_a_command_line_that_is_none_exits_with_2(tmp_path: Path, args: str) -> None:
    ran = await ctl(tmp_path, *args.split())
    assert (ran.code, "Traceback" in ran.err) == (2, False)
    assert "Usage: supervisorctl" in ran.err + ran.out


async def test_a_program_is_told_the_same_as_a_person(tmp_path: Path) -> None:
    async with served(tmp_path):
        ran = await ctl(tmp_path, "status", "zzz", "--json")
        error = {
            "code": "no-such-thing",
            "message": "there is no batch zzz",
            "hint": "`supervisorctl status` lists them",
        }
        assert (ran.code, ran.json, ran.err) == (5, {"error": error}, "")


async def test_a_test_that_fails_to_collect_is_shown_in_pytests_own_words(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        UNIMPORTABLE(api)
        assert "No module named 'nothing_like_it'" in (await ctl(tmp_path, "submit", cwd=api.repo)).err


async def test_a_socket_that_was_left_behind_is_no_daemon(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "ctl.sock"))
    (await ctl(tmp_path, "status")).refused(3, "is not running")


async def test_something_else_on_the_socket_is_no_daemon(tmp_path: Path) -> None:
    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"220 ready\r\n")
        writer.close()

    async with await asyncio.start_unix_server(rude, tmp_path / "ctl.sock"):
        (await ctl(tmp_path, "status")).refused(3, "is not the socket of an agent-supervisor")


#: Our modules may not be readable to others: what is needed is imported first.
ANOTHER_USER = """
import os, pathlib, sys
from supervisor.control.client import Client
from supervisor.errors import Unreachable
os.setgroups([]), os.setgid(65534), os.setuid(65534)
try:
    Client(pathlib.Path(sys.argv[1])).get("/v1/status")
except Unreachable as error:
    print(f"error: {error.message}\\nhint: {error.hint}", file=sys.stderr)
    sys.exit(error.exit_code)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
async def test_the_socket_of_another_user_is_not_for_us(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(0o755)
        running = await asyncio.create_subprocess_exec(
            str(BIN / "python"),
            "-c",
            ANOTHER_USER,
            str(api.socket),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await running.communicate()
        Ran(running.returncode or 0, out.decode(), err.decode()).refused(3, "no permission to use")


async def test_doctor_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = await ctl(tmp_path, "doctor", "--json", PATH=str(tmp_path / "empty"), SUPERVISOR_STATE_DIR=str(tmp_path))
    found = {each["name"]: each for each in ran.json["findings"]}
    assert ran.code == 1
    for tool in ("mngr", "tmux", "git", "rsync"):
        assert found[tool]["state"] == "problem"
        assert found[tool]["hint"]


# --- the daemon's own


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--config", "nowhere.toml"], "there is no configuration file nowhere.toml"),
        (["--config", "bad.toml"], "bad.toml: sloots is not a key"),
        (["--state-dir", "file"], "a system call failed"),
        (["--state-dir", "damaged"], "is damaged"),
        (["--state-dir", "ok", "--socket", "file"], "exists and is not a socket"),
    ],
)
async def test_a_daemon_that_can_not_start_says_why(tmp_path: Path, args: list[str], says: str) -> None:
    (tmp_path / "bad.toml").write_text("sloots = 1")
    (tmp_path / "file").write_text("")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "journal.sqlite3").write_text("not a database")
    ran = await ctl(tmp_path, *args, program="supervisord")
    assert (ran.code, f"supervisord: {says}" in ran.err or says in ran.err) == (2, True), ran
    assert "hint: " in ran.err
    assert "Traceback" not in ran.err
