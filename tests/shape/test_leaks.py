"""The leak check catches what it is for, and lets go what a wider fixture or the session has made."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests import leaks
leaks.MOMENT_SECONDS = 0.5

def pytest_configure(config):
    leaks.begin(config.pluginmanager)

def pytest_unconfigure():
    leaks.end()
"""

LEAKS = {
    "process": "def test_it(): subprocess.Popen(['sleep', '3']).returncode = 0",
    "orphan": "def test_it(): subprocess.run(['setsid', '-f', 'sleep', '3'])",
    "task": "async def test_it(): kept.append(asyncio.get_running_loop().create_task(asyncio.sleep(60)))",
    "descriptor": "def test_it(): kept.append(os.open('/etc/passwd', os.O_RDONLY))",
    "socket": "def test_it(): kept.append(os.dup(socket.socketpair()[0].detach()))",
    "file": "def test_it(): tempfile.mkdtemp()",
}

CLEAN = """
@pytest.fixture(scope="module")
def wide():
    with subprocess.Popen(["sleep", "60"]) as process, tempfile.NamedTemporaryFile():
        yield
        process.kill()

def test_asks_for_what_outlives_it(wide): pass

async def test_ends_what_it_began(tmp_path):
    process = await asyncio.create_subprocess_exec("true")
    await asyncio.create_task(asyncio.sleep(0))
    (tmp_path / "file").write_text("")
    assert await process.wait() == 0
"""

IMPORTS = "import asyncio, os, socket, subprocess, tempfile, pytest\nkept = []\n\n"


def outcomes(pytester: pytest.Pytester, tests: str) -> tuple[dict[str, int], str]:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(IMPORTS + tests)
    ran = pytester.runpytest_subprocess("-o", "asyncio_mode=auto", "-p", "no:cacheprovider")
    return ran.parseoutcomes(), ran.stdout.str()


@pytest.mark.parametrize("kind", LEAKS)
def test_what_is_left_behind_fails_the_test(pytester: pytest.Pytester, kind: str) -> None:
    counts, said = outcomes(pytester, LEAKS[kind])
    assert counts.get("errors", 0) + counts.get("failed", 0) == 1, said
    assert "the test leaves behind" in said


def test_what_has_a_wider_scope_or_ends_is_no_leak(pytester: pytest.Pytester) -> None:
    counts, said = outcomes(pytester, CLEAN)
    assert counts == {"passed": 2}, said
