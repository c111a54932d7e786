"""The slash command for target repositories: installed once, and every command in it works."""

import asyncio
import re
import subprocess
from pathlib import Path

import pytest

from supervisor.rehearsal import lay_out
from tests.cli.running import ctl, environment

NAME = ".claude/commands/sync-tutorial-to-e2e-tests.md"


async def test_it_is_installed_and_what_a_team_made_of_it_is_left_alone(tmp_path: Path) -> None:
    for _ in range(2):
        done = await ctl(tmp_path, "tutorial", "install-command")
        assert (done.code, done.out.strip()) == (0, NAME)
    (tmp_path / NAME).write_text("our own")
    (await ctl(tmp_path, "tutorial", "install-command", str(tmp_path))).refused(4, "differs from the shipped version")
    assert (tmp_path / NAME).read_text() == "our own"


@pytest.mark.timeout(300)
async def test_every_command_in_it_works(tmp_path: Path) -> None:
    """In a real target, where one citation is stale, for its arguments: the script and the folder of its tests."""
    repo = tmp_path / "pantry"
    lay_out(repo)
    tutorial = repo / "tutorial.sh"
    tutorial.write_text(tutorial.read_text().replace("# what did we do lately?", "# what did we do last?"))
    await ctl(tmp_path, "tutorial", "install-command", str(repo))
    commands = re.findall(r"^ *```sh\n(.*?)\n *```$", (repo / NAME).read_text(), re.MULTILINE | re.DOTALL)
    assert len(commands) == 5
    said = {}
    for command in commands:
        # The pantry's defects fail some of its tests; here one file that passes stands for all.
        folder = "tests/e2e/test_company.py" if "pytest" in command else "tests/e2e"
        (repo / "tests/e2e/test_company.py").write_text(COMPANY)
        done = await asyncio.to_thread(
            subprocess.run,
            ["sh", "-c", command.strip(), "sh", "tutorial.sh", folder],
            cwd=repo,
            env=environment(tmp_path, PYTHONDONTWRITEBYTECODE="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD=""),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        said[command] = done.stdout + done.stderr
    [fixed] = [text for command, text in said.items() if "--fix" in command]
    assert "+        # what did we do last?" in fixed


COMPANY = '''\
def test_stats(e2e, stocked):
    """Stats are told.

    Tutorial block:
        # and the stock in numbers
        pantry stats
    """
    assert e2e.run("pantry stats").exit_code == 0
'''
