"""A branch that an integration has landed, on real git, and what people say of its commits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from immutables import Map

from supervisor.adapters.git.store import GitStore
from supervisor.integration.review.pull_requests import Where
from supervisor.integration.revising import BranchReviser
from supervisor.model.review import Opinion, Review, ReviewedBranch, Verdict
from supervisor.ports.review import Revised
from tests.agent_clone import commit, git

BRANCH = "supervisor/b"
TEXT = "one\n\n\ntwo\n\n\nthree\n"
AT = 1_750_000_000.0


@dataclass
class Stage:
    """A person's repository, with a remote, and a branch of three commits that an integration has landed there."""

    home: Path
    repo: Path
    remote: Path
    store: GitStore
    base: str
    #: the fix of `one`, a second one on the same line, and one of `three`
    first: str
    again: str
    third: str
    pull_request: str = ""
    where: Where | None = None
    opinions: dict[str, Opinion] = field(default_factory=dict)
    known: Revised = field(default_factory=Revised)

    @property
    def review(self) -> Review:
        branch = ReviewedBranch(str(self.repo), self.base, BRANCH, self.third, self.pull_request)
        out = {commit: sha for commit, sha in self.known.reverted.items() if commit not in self.known.restored}
        return Review("b", branch, Map(self.opinions), Map(out))

    async def asked(self, verdict: Verdict, *commits: str, author: str = "ann", reason: str = "") -> Revised:
        self.opinions |= {commit: Opinion(verdict, author, AT, reason) for commit in commits}
        return await self.revised()

    async def revised(self) -> Revised:
        done = await BranchReviser(self.store, self.where).revise(self.review)
        self.known = replace(
            self.known,
            reverted={**self.known.reverted, **done.reverted},
            restored={**self.known.restored, **done.restored},
        )
        return done

    def offered(self) -> None:
        """The branch was pushed, and a pull request opened."""
        git(self.repo, "push", "-q", "origin", BRANCH)
        self.pull_request, self.where = "https://forge/ann/shop/pull/1", Where("https://api.forge", str)

    def colleague(self, branch: str = BRANCH, **files: str) -> str:
        """Somebody pushes a commit to the branch."""
        clone = self.home / "colleague"
        git(self.home, "clone", "-q", "-b", branch, str(self.remote), str(clone))
        sha = commit(clone, "a colleague's", **files)
        git(clone, "push", "-q", "origin", branch)
        return sha

    def tip(self, where: Path | None = None) -> str:
        return git(where or self.repo, "rev-parse", f"refs/heads/{BRANCH}")

    def file(self, where: Path | None = None, name: str = "app.py") -> str:
        return git(where or self.repo, "show", f"{BRANCH}:{name}")

    def message(self, sha: str) -> str:
        return git(self.repo, "show", "-s", "--format=%an <%ae>%n%B", sha)


def _untouched(repo: Path) -> tuple[str, ...]:
    asked = (("symbolic-ref", "HEAD"), ("rev-parse", "HEAD"), ("status", "--porcelain"), ("stash", "list"))
    return (*(git(repo, *words) for words in asked), (repo / ".git" / "index").read_bytes().hex())


@asynccontextmanager
async def stage(home: Path) -> AsyncIterator[Stage]:
    """What the person has in the work tree, in the index and as HEAD is as before at the end."""
    repo, remote = home / "repo", home / "ann" / "shop.git"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    base = commit(repo, "base", app__py=TEXT, kept__txt="kept\n")
    remote.parent.mkdir()
    git(home, "clone", "-q", "--bare", str(repo), str(remote))
    git(repo, "remote", "add", "origin", str(remote))
    store = GitStore(home / "state")
    await store.snapshot(repo, base, "b")
    work = home / "state" / "batches" / "b" / "source"
    first, again, third = (
        commit(work, "[FIX_IMPL] First\n\nSupervisor-Job: b.1", app__py=TEXT.replace("one", "ONE")),
        commit(work, "[FIX_IMPL] Again\n\nSupervisor-Job: b.2", app__py=TEXT.replace("one", "ONE!")),
        commit(work, "[FIX_IMPL] Third\n\nSupervisor-Job: b.3", app__py=TEXT.replace("one", "ONE!").upper()),
    )
    git(work, "push", "-q", str(store.bare(repo)), "HEAD:refs/supervisor/b/integrated/1")
    await store.land_once(repo, third, "b", 1)
    (repo / "app.py").write_text("what a person is writing\n")
    (repo / "staged.py").write_text("what they have added\n")
    git(repo, "add", "staged.py")
    before = _untouched(repo)
    yield Stage(home, repo, remote, store, base, first, again, third)
    assert _untouched(repo) == before
    assert (repo / "app.py").read_text() == "what a person is writing\n"
