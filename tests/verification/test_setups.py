"""A setup is run once for what it is made of, and what it left serves later checkouts: real git, inside of walls."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from supervisor.cli.findings import Judged, setups_kept
from supervisor.settings import Settings
from supervisor.verification.setups.kept import prune, stock
from supervisor.verification.trials.staging import Stage
from tests.agent_clone import git
from tests.verification.arena import APP, TESTS, TEXT, Arena, Files, arena

FILES: Files = {
    "app.py": APP,
    "test_app.py": TESTS,
    "uv.lock": "one\n",
    "src/pkg/__init__.py": "VALUE = 1\n",
    "tools/install.sh": "mkdir -p .env && cp uv.lock .env/installed\n",
}
INSTALL = "mkdir -p .env && cp uv.lock .env/installed"
FIXED: Files = {"app.py": APP.replace(" + 1", "")}


@dataclass
class Yard:
    here: Arena
    setup: str = INSTALL
    more: dict[str, Any] | None = None

    @asynccontextmanager
    async def stage(self, files: Files | None = None, **profile: Any) -> AsyncIterator[Stage]:
        """Of a run, in a checkout of a tree with these files."""
        setup = f"echo run >> {self.here.notes}/setup && {self.setup}"
        profile = {"setup": setup, "setup_inputs": None, **(self.more or {}), **profile}
        async with self.here.trial(files, **profile) as trial, trial.stage() as stage:
            yield stage

    @asynccontextmanager
    async def checkout(self, files: Files | None = None, **profile: Any) -> AsyncIterator[Path]:
        async with self.stage(files, **profile) as stage:
            yield stage.copy

    async def left(self, files: Files | None = None, at: str = ".env/installed", **profile: Any) -> str:
        async with self.checkout(files, **profile) as checkout:
            return (checkout / at).read_text()

    @property
    def runs(self) -> int:
        note = self.here.notes / "setup"
        return len(note.read_text().splitlines()) if note.exists() else 0


@asynccontextmanager
async def yard(folder: Path, setup: str = INSTALL, **profile: Any) -> AsyncIterator[Yard]:
    async with arena(folder, FILES) as here:
        yield Yard(here, setup, profile)


async def test_ten_checkouts_cost_one_setup(tmp_path: Path) -> None:
    async with yard(tmp_path) as here:
        found = [await here.left(FIXED if number % 2 else None) for number in range(10)]

        assert found == ["one\n"] * 10
        assert here.runs == 1


async def test_what_an_agent_changed_in_a_lock_file_is_installed(tmp_path: Path) -> None:
    async with yard(tmp_path) as here:
        assert [await here.left(), await here.left({"uv.lock": "two\n"}), await here.left()] == [
            "one\n",
            "two\n",
            "one\n",
        ]
        assert here.runs == 2


COPY = "mkdir -p .env && cp -r src .env/installed"
#: as an agent writes it
SCRIPT = "mkdir -p .env && echo > .env/installed\n"


@pytest.mark.parametrize(
    ("setup", "change"),
    [
        pytest.param(COPY, {"src/pkg/__init__.py": "VALUE = 2\n"}, id="copied"),
        pytest.param(COPY, {"src/pkg/new.py": "VALUE = 3\n"}, id="listed"),
        pytest.param("sh tools/install.sh", {"tools/install.sh": SCRIPT}, id="run"),
        pytest.param(INSTALL, {"requirements-dev.txt": "pytest\n"}, id="new lock file"),
        pytest.param(f"git rev-parse HEAD && {INSTALL}", FIXED, id="history"),
        pytest.param(f"echo more >> test_app.py && {INSTALL}", FIXED, id="changes what is there"),
        pytest.param("true", FIXED, id="leaves nothing"),
    ],
)
async def test_what_a_setup_has_seen_of_the_checkout_decides_too(setup: str, change: Files, tmp_path: Path) -> None:
    async with yard(tmp_path, setup) as here:
        for files in (None, change):
            async with here.checkout(files):
                pass
        assert here.runs == 2


async def test_links_decide_too(tmp_path: Path) -> None:
    """The kernel tells what a link leads to, not the link."""
    async with yard(tmp_path, "mkdir -p .env && cp current/__init__.py .env/installed") as here:
        arena, link = here.here, here.here.repo / "current"
        link.symlink_to("src/pkg")
        arena.base = arena.commit({"lib/__init__.py": "VALUE = 9\n"})
        git(arena.repo, "reset", "-q", "--hard", arena.base)
        assert await here.left() == "VALUE = 1\n"
        link.unlink()
        link.symlink_to("lib")
        assert await here.left({"note": "x\n"}) == "VALUE = 9\n"


async def test_what_it_leaves_at_home_is_there_too(tmp_path: Path) -> None:
    setup = "mkdir -p ~/.local/bin ~/.cache/tool && echo x > ~/.local/bin/tool && echo y > ~/.cache/tool/y"
    async with yard(tmp_path, setup) as here:
        for files in (None, FIXED):
            async with here.checkout(files) as checkout:
                home = checkout.parents[2]
                assert (home / ".local/bin/tool").read_text() == "x\n"
                assert (home / ".cache/tool/y").read_text() == "y\n"
        assert here.runs == 1


async def test_it_is_laid_at_the_path_that_it_knows(tmp_path: Path) -> None:
    """An editable install that leads elsewhere is not used: at the same time there is a second one."""
    async with yard(tmp_path, 'mkdir -p .env && echo "$PWD" > .env/installed') as here, AsyncExitStack() as opened:
        assert await here.left() == await here.left(FIXED)
        assert here.runs == 1
        stages = [await opened.enter_async_context(here.stage()) for _ in range(2)]
        for stage in stages:
            assert (stage.copy / ".env/installed").read_text().strip() == str(stage.checkout)
        assert here.runs == 2


async def test_tests_are_run_in_it(tmp_path: Path) -> None:
    """Also where the daemon is root, and they are not."""
    async with yard(tmp_path, "echo 'nothing = 0' > made.py") as here:
        for _ in range(2):
            profile: dict[str, Any] = {"setup": here.setup, "setup_inputs": None}
            run = await here.here.run({"app.py": f"from made import nothing\n{APP}"}, TEXT, **profile)
            assert run.passed, run.why_not
            base = await here.here.run(None, TEXT, **profile)
            assert base.passed, base.why_not
        assert len(stock(tmp_path / "state")) == 1


async def test_nothing_is_kept_of_an_agents_tree(tmp_path: Path) -> None:
    async with yard(tmp_path, "sh tools/install.sh") as here:
        evil: Files = {"tools/install.sh": "mkdir -p .env && echo evil > .env/installed\n"}
        assert await here.left(evil) == "evil\n"
        assert not stock(tmp_path / "state")
        assert await here.left() == "one\n"
        assert await here.left(evil) == "evil\n"
        assert await here.left() == "one\n"


async def test_what_a_run_does_to_it_stays_in_the_run(tmp_path: Path) -> None:
    async with yard(tmp_path) as here:
        async with here.checkout() as checkout:
            (checkout / ".env/installed").write_text("changed\n")
        assert await here.left() == "one\n"


@pytest.mark.parametrize("profile", [{"sandbox": "off"}, {"setup_inputs": ()}])
async def test_it_is_run_each_time(profile: dict[str, Any], tmp_path: Path) -> None:
    """Without walls, a trial could write into what is kept."""
    async with yard(tmp_path, **profile) as here:
        assert [await here.left(), await here.left()] == ["one\n", "one\n"]
        assert here.runs == 2


async def test_a_profile_that_says_what_decides_is_believed(tmp_path: Path) -> None:
    async with yard(tmp_path, COPY, setup_inputs=("uv.lock",)) as here:
        works: list[Files | None] = [None, {"src/pkg/__init__.py": "VALUE = 2\n"}, {"uv.lock": "two\n"}]
        for files in works:
            async with here.checkout(files):
                pass
        assert here.runs == 2


async def test_another_command_or_environment_is_another_setup(tmp_path: Path) -> None:
    async with yard(tmp_path) as here:
        await here.left()
        await here.left(env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "MORE": "1"})
        assert here.runs == 2
        here.setup = f"true; {INSTALL}"
        await here.left()
        assert here.runs == 3


async def test_what_is_old_or_too_much_is_removed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with yard(tmp_path) as here:
        await here.left()
        prune(state)
        [kept] = stock(state)
        assert kept.made is not None
        assert 0 < kept.made.size < 2**20
        prune(state, most=1)
        assert not stock(state)
        await here.left()
        prune(state, days=0)
        assert not stock(state)
        assert not list((state / "caches" / "setups").iterdir())
        await here.left()
        assert here.runs == 3


async def test_doctor_says_how_much_is_kept(tmp_path: Path) -> None:
    judged = Judged(Settings(state_dir=tmp_path / "state"), "of a test", "", 0)
    async with yard(tmp_path) as here:
        assert not list(setups_kept(judged))
        await here.left()
        [found] = setups_kept(judged)
        assert found.state == "ok"
        assert found.message == "1 setup is kept for later checkouts: 0 MB"
