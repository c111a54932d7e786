"""The target repository is harmed while agents are at work: it ends in a sentence, and no work is lost."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from supervisor.adapters.git.store import GitStore
from supervisor.errors import Refused
from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.observe.work import pieces
from tests.agent_clone import commit, git
from tests.daemon.crash import STUB
from tests.daemon.sandbox import AGENT, Running, box, running
from tests.waiting import until

pytestmark = pytest.mark.proof

PATIENCE_SECONDS = 120.0


@asynccontextmanager
async def at_work(folder: Path, repo: Callable[[Path], Path] = lambda repo: repo) -> AsyncIterator[Running]:
    """Two agents are at work until `go` is there. `repo` makes the target of what was made for the batch."""
    held = ["sh", "-c", f'while [ ! -e "{folder}/go" ]; do sleep 0.1; done; exec {AGENT}']
    settings = {"mngr": {"command": str(STUB), "warm": False}}
    async with box(folder, jobs=2, settings=settings, profile={"command": held}) as made:
        target = repo(folder / "repo")
        async with running(made) as here:
            await here.submit(repo=target)
            await until("both are at work", lambda: len(here.live()) == 2, PATIENCE_SECONDS)
            yield here


async def over(here: Running) -> ev.IntegrationEnded:
    (here.box.folder / "go").touch()
    before = dict(here.state.batches)
    await here.finished(timeout=PATIENCE_SECONDS)
    assert before
    assert [event.outcome for event in here.of(ev.JobEnded)] == ["improved"] * 2
    [ended] = here.of(ev.IntegrationEnded)
    assert isinstance(ended, ev.IntegrationEnded)
    return ended


def notes(repo: Path, branch: str) -> list[str]:
    return [path for path in git(repo, "ls-tree", "--name-only", branch).splitlines() if path.startswith("note-")]


async def test_it_is_deleted(tmp_path: Path) -> None:
    """The branch is kept with the daemon, and made when the repository is back."""
    async with at_work(tmp_path) as here:
        repo = tmp_path / "repo"
        shutil.copytree(repo, tmp_path / "backup")
        shutil.rmtree(repo)

        ended = await over(here)

        assert ended.branch == ""
        [problem] = ended.problems
        assert f"the branch could not be made in {repo}" in problem
        assert "`supervisorctl work batch --take` makes it" in problem
        store = here.devices.store
        with pytest.raises(Refused, match="there is no repository") as refused:
            await store.hand_over(repo, repo, ended.head, "supervisor/batch")
        assert "--repo DIR" in refused.value.hint
        shutil.move(tmp_path / "backup", repo)
        assert await store.hand_over(repo, repo, ended.head, "supervisor/batch")
        assert len(notes(repo, "supervisor/batch")) == 2


async def test_the_work_of_a_batch_that_did_not_land_is_listed(tmp_path: Path) -> None:
    """As a row of its own, which `work BATCH --take` brings home."""
    async with at_work(tmp_path) as here:
        (tmp_path / "repo").rename(tmp_path / "moved")
        seen: list[Batch] = []
        here.daemon.loop.watch(lambda state, events: seen.extend(state.batches.values()))

        ended = await over(here)

        [piece] = pieces(seen[-1])
        assert (piece.id, piece.head, piece.branch) == ("batch", ended.head, "supervisor/batch")
        assert piece.view["ref"] == "refs/supervisor/batch/integrated/1"
        assert "could not be made" in piece.view["why"]


def state_of(repo: Path) -> tuple[str, str, bytes]:
    status = git(repo, "status", "--porcelain", GIT_OPTIONAL_LOCKS="0")
    return status, git(repo, "rev-parse", "HEAD"), (repo / ".git" / "index").read_bytes()


def collected(repo: Path) -> None:
    git(repo, "gc", "-q", "--prune=now")


def rewound(repo: Path) -> None:
    """The base is in no history any more, and its objects are gone."""
    git(repo, "checkout", "-q", "--orphan", "other")
    commit(repo, "another history")
    git(repo, "branch", "-qD", "main")
    git(repo, "branch", "-qm", "main")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")


def dirtied(repo: Path) -> None:
    next(repo.glob("**/test_*.py")).write_text("in the middle of something\n")
    git(repo, "add", "-A")


@pytest.mark.parametrize("harm", [collected, rewound, dirtied], ids=lambda harm: harm.__name__)
async def test_it_is_changed(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """The branch stands on the base that the batch began with, and nothing else is touched."""
    async with at_work(tmp_path) as here:
        repo = tmp_path / "repo"
        harm(repo)
        before = state_of(repo)

        ended = await over(here)

        assert (ended.branch, ended.problems) == ("supervisor/batch", ())
        assert len(notes(repo, "supervisor/batch")) == 2
        assert state_of(repo) == before


def linked(repo: Path) -> Path:
    git(repo, "worktree", "add", "-q", "-b", "mine", str(repo.parent / "linked"))
    return repo.parent / "linked"


def with_submodule(repo: Path) -> Path:
    other = repo.parent / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    commit(other, "other", o="o\n")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git(repo, "commit", "-qm", "a submodule")
    return repo


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12345\n"


def with_pointers(repo: Path) -> Path:
    """Of git-lfs, which is not installed."""
    commit(repo, "pointers", __gitattributes="*.bin filter=lfs diff=lfs merge=lfs -text\n", data__bin=POINTER)
    return repo


@pytest.mark.parametrize("kind", [linked, with_submodule, with_pointers], ids=lambda kind: kind.__name__)
async def test_what_is_no_plain_checkout(tmp_path: Path, kind: Callable[[Path], Path]) -> None:
    """It is worked on like any other, and its branch has everything that the base has."""
    async with at_work(tmp_path, kind) as here:
        target = tmp_path / ("linked" if kind is linked else "repo")
        base = set(git(target, "ls-tree", "-r", "HEAD").splitlines())
        status = git(target, "status", "--porcelain")

        ended = await over(here)

        assert (ended.branch, ended.problems) == ("supervisor/batch", ())
        branch = set(git(target, "ls-tree", "-r", ended.branch).splitlines())
        assert base <= branch
        assert len(notes(target, ended.branch)) == 2
        assert git(target, "status", "--porcelain") == status


def all_but_git(into: Path) -> Path:
    """What is on PATH, without git."""
    into.mkdir()
    for folder in reversed([Path(each) for each in os.environ["PATH"].split(":") if Path(each).is_dir()]):
        for program in folder.iterdir():
            if program.name != "git" and not (into / program.name).is_symlink():
                (into / program.name).symlink_to(program)
    return into


async def test_git_is_missing_for_a_while(tmp_path: Path) -> None:
    """What was published waits, and comes home when git is back."""
    path, without = os.environ["PATH"], all_but_git(tmp_path / "bin")
    async with at_work(tmp_path) as here:
        homes = [here.devices.agents.state_dir(attempt.agent_id) for attempt in here.live()]
        os.environ["PATH"] = str(without)
        try:
            (tmp_path / "go").touch()
            published = [home / "supervisor" / "published.tar" for home in homes]
            await until("both have published", lambda: all(each.exists() for each in published), PATIENCE_SECONDS)
            await until("it is told", lambda: here.of(ev.CollectFailed), PATIENCE_SECONDS)
            assert "git can't be started" in here.of(ev.CollectFailed)[0].detail
            assert not here.of(ev.PublicationRefused)
        finally:
            os.environ["PATH"] = path

        ended = await over(here)

        assert (ended.branch, ended.problems) == ("supervisor/batch", ())
        assert len(notes(tmp_path / "repo", ended.branch)) == 2


async def test_what_can_not_be_worked_on_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """A filter of the person's that is missing, and what an agent could not be given."""
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    with_pointers(repo)
    git(repo, "clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    commit(repo, "more")
    git(repo, "clone", "-q", "--depth=1", f"file://{repo}", str(tmp_path / "shallow"))
    git(tmp_path, "init", "-q", "--object-format=sha256", "sha256")
    git(repo, "config", "filter.lfs.required", "true")
    git(repo, "config", "filter.lfs.clean", "git-lfs-is-not-here clean -- %f")
    (repo / "data.bin").touch()
    store = GitStore(tmp_path / "state")
    for name, says, hint in (
        ("bare", "is a bare repository", "give the path of a checkout"),
        ("shallow", "is a shallow clone", "fetch --unshallow"),
        ("sha256", "uses sha256 object names", "only SHA-1"),
        ("repo", "git-lfs-is-not-here", "a filter, such as git-lfs, may be missing"),
    ):
        with pytest.raises(Refused, match=says) as refused:
            await store.inspect(tmp_path / name)
        assert hint in refused.value.hint
