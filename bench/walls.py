"""What walls cost one run: `true`, and a pytest of one test, inside of walls and in a pid namespace alone."""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import anyio

from supervisor.model.profile import Profile
from supervisor.verification.trials.running import run, walls_lack
from supervisor.verification.walls.sandbox import limits_of
from supervisor.verification.walls.toolchain import tools
from supervisor.verification.walls.walls import Walls, own_places

TIMES = 30
PATH = os.environ.get("PATH", os.defpath)
TEST = "def test_it():\n    assert True\n"


async def main() -> None:
    if lacks := await walls_lack():
        sys.exit(f"no walls can be built here: {lacks}")
    with tempfile.TemporaryDirectory() as folder:
        walls = made(Path(folder))
        home = walls.writable[0]
        walls.plan(home)
        began = time.perf_counter()
        mounts = len(walls.plan(home)["mounts"])
        print(f"{mounts} mounts, planned in {1000 * (time.perf_counter() - began):.1f} ms")
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        for name, argv in {"true": ["true"], "pytest, one test": pytest}.items():
            bare, walled = await compared(argv, home, walls)
            print(f"{name:18} {bare:7.1f} ms   in walls {walled:7.1f} ms   {walled - bare:+.1f} ms")


def made(folder: Path) -> Walls:
    home, standing = folder / "home", folder / "tmp"
    home.mkdir()
    standing.mkdir()
    (home / "test_it.py").write_text(TEST)
    private = own_places(folder / "state")
    readable = tools(PATH, [sys.executable], [], private, folder / "repo")
    fresh = (standing, home)
    return Walls(standing, (home,), tuple(sorted(readable)), private, limits=limits_of(Profile()), fresh=fresh)


async def compared(argv: Sequence[str], home: Path, walls: Walls) -> tuple[float, float]:
    """Medians, in turns: other work on the machine meets both."""
    env = {"PATH": PATH, "HOME": str(home), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(TIMES):
        for times, means in zip(took, (None, walls), strict=True):
            began = time.perf_counter()
            ended = await run(argv, cwd=home, env=env, timeout=60, walls=means)
            times.append(1000 * (time.perf_counter() - began))
            assert ended.code == 0, ended
    return statistics.median(took[0]), statistics.median(took[1])


if __name__ == "__main__":
    anyio.run(main)
