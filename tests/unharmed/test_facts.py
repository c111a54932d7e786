"""What our own git does to a person's repository, beside what a person's does."""

from pathlib import Path

from supervisor.adapters.git.store import GitStore
from tests.agent_clone import commit, git
from tests.unharmed.facts import facts, out_of_step


def checkout(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "base", README="read me\n", pytest__ini="")
    return folder


async def test_looking_at_a_checkout_writes_nothing_where_git_status_does(tmp_path: Path) -> None:
    """Files whose times the index does not know make a plain `git status` write it. Ours has no optional locks."""
    repo = checkout(tmp_path / "repo")
    out_of_step(repo)
    before = facts(repo)

    looked = await GitStore(tmp_path / "state").inspect(repo)
    assert (facts(repo), looked.dirty_paths) == (before, ())

    git(repo, "status")
    assert {name for name, fact in facts(repo).items() if fact != before[name]} == {".git/index"}


async def test_a_branch_is_all_that_landing_makes(tmp_path: Path) -> None:
    """Whatever the repository's own configuration makes of a fetch: nothing is pruned, no submodule fetched."""
    library, repo = checkout(tmp_path / "library"), checkout(tmp_path / "repo")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "library")
    base = commit(repo, "with a library")
    git(repo, "tag", "v1")
    git(repo, "branch", "topic")
    for name in ("fetch.prune", "fetch.pruneTags", "fetch.recurseSubmodules", "fetch.writeCommitGraph"):
        git(repo, "config", name, "true")
    git(repo, "config", "protocol.file.allow", "always")
    commit(library, "later", README="read me again\n")
    store = GitStore(tmp_path / "state")
    await store.snapshot(repo, base, "k3f9x")
    before = facts(repo)

    branch = await store.land_once(repo, base, "k3f9x", 1)

    assert facts(repo) == before
    assert git(repo, "rev-parse", branch) == base
