"""The scripts that shells read, in those shells where they are installed, and what the scripts ask in any case."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.cli.running import ctl, environment
from tests.control.served import served

#: how a shell is brought to say what it would offer at the end of a line, without a terminal
OFFERS = {
    "bash": """
        COMP_WORDS=({words}) COMP_CWORD={last}; _supervisorctl_complete supervisorctl
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
    "zsh": """
        words=({words}) CURRENT={last}+1; _supervisorctl_complete
    """,
    "fish": "complete -C '{line}'",
}
#: what zsh has where there is a terminal
STAGE = {"zsh": "compdef() {}; compadd() { shift; print -l -- $@ }; _files() { print 'files' }\n"}

LINES = [
    (["st"], "status"),
    (["status", ""], "kaaaa"),
    (["status", "ka"], "kaaaa"),
    (["report", "ka"], "kaaaa"),
    (["logs", "ka"], "kaaaa."),
    (["logs", "kaaaa."], "kaaaa.1"),
    (["cancel", "kaaaa."], "kaaaa.1"),
    (["work", "kaaaa."], "kaaaa.1"),
    (["why", "kaaaa."], "kaaaa.1"),
    (["why", "lo"], "local"),
    (["drain", "--dead"], "--deadline"),
    (["tutorial", "ch"], "check"),
    (["tutorial", "check", "tutorial.sh", "--annotations", "g"], "github"),
    (["tutorial", "fill", "tutorial.sh", "--review", "ka"], "kaaaa"),
    (["tutorial", "fill", "tutorial.sh", "--accept", "kaaaa."], "kaaaa.1"),
    (["config", "show", "--or"], "--origin"),
    (["completion", "z"], "zsh"),
    (["--json", "st"], "status"),
]


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


async def said(home: Path, *argv: str, **env: str) -> str:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, env=environment(home, **env), stdout=pipe, stderr=pipe)
    out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    return out.decode()


async def test_a_shell_can_read_its_script(tmp_path: Path, shell: str) -> None:
    (tmp_path / "script").write_text((await ctl(tmp_path, "completion", shell)).out)
    await said(tmp_path, shell, "-n", str(tmp_path / "script"))


async def test_a_shell_offers_verbs_options_batches_and_jobs(tmp_path: Path, shell: str) -> None:
    async with served(tmp_path) as api:
        await api.submit("tests/test_it.py::test_one", batch="kaaaa")
        script = STAGE.get(shell, "") + (await ctl(tmp_path, "completion", shell)).out
        for words, wanted in LINES:
            quoted = " ".join(f'"{word}"' for word in ["supervisorctl", *words])
            line = " ".join(["supervisorctl", *words])
            asked = OFFERS[shell].format(words=quoted, last=len(words), line=line)
            offered = await said(tmp_path, shell, "-c", script + asked, SUPERVISOR_SOCKET=str(api.socket))
            assert wanted in offered.splitlines(), words


@pytest.mark.parametrize(("words", "wanted"), LINES)
async def test_what_a_script_asks_is_answered_a_candidate_a_line(
    tmp_path: Path, words: list[str], wanted: str
) -> None:
    """The words before the cursor, the one that is typed as the last, though it be empty."""
    async with served(tmp_path) as api:
        await api.submit("tests/test_it.py::test_one", batch="kaaaa")
        offered = await ctl(tmp_path, "complete", "--", *words)
        assert (offered.code, offered.err) == (0, "")
        assert wanted in offered.out.splitlines()
        assert all(line.startswith(words[-1]) for line in offered.out.splitlines())


async def test_without_a_daemon_a_shell_hears_no_complaint(tmp_path: Path) -> None:
    offered = await ctl(tmp_path, "complete", "--", "status", "ka")
    assert (offered.code, offered.out.strip(), offered.err) == (0, "", "")


@pytest.mark.parametrize("words", [["submit", "te"], ["tutorial", "check", "tu"], ["cancel", "kaaaa", "k"]])
async def test_where_no_id_is_meant_the_shell_is_left_to_offer_files(tmp_path: Path, words: list[str]) -> None:
    async with served(tmp_path) as api:
        await api.submit("tests/test_it.py::test_one", batch="kaaaa")
        offered = await ctl(tmp_path, "complete", "--", *words)
    assert (offered.code, offered.out.strip(), offered.err) == (0, "", "")


async def test_the_daemon_that_is_named_on_the_line_is_asked(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.submit("tests/test_it.py::test_one", batch="kaaaa")
        words = ("--socket", str(api.socket), "status", "ka")
        offered = await ctl(tmp_path, "complete", "--", *words, SUPERVISOR_SOCKET=str(tmp_path / "another"))
    assert offered.out.split() == ["kaaaa"]


async def test_what_is_meant_for_pytest_is_not_completed(tmp_path: Path) -> None:
    offered = await ctl(tmp_path, "complete", "--", "submit", "tests", "--", "-m", "")
    assert (offered.code, offered.out.strip(), offered.err) == (0, "", "")
