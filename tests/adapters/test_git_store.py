"""The git store: a person's checkout is only read; sources and checkouts are clean clones of our own."""

import asyncio
from pathlib import Path

import psutil
import pytest

from supervisor.adapters.git.process import git as run_git
from supervisor.adapters.git.store import GitStore
from supervisor.errors import GitFailed, NoSuchThing, Refused
from supervisor.integration.branches.picking import integrate
from supervisor.integration.rules.work import Work
from supervisor.publication.changes import read_changes
from tests.agent_clone import commit, git
from tests.waiting import until


def person(home: Path) -> Path:
    repo = home / "person"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    commit(repo, "first", app__py="one\n", deep="x")
    return repo


def tree_of(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file below, with what would betray a touch."""
    return {
        str(path.relative_to(root)): (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }


async def test_inspects_a_checkout_without_touching_it(tmp_path: Path) -> None:
    repo, store = person(tmp_path), GitStore(tmp_path / "state")
    (repo / "sub").mkdir()
    before = tree_of(repo)
    facts = await store.inspect(repo / "sub")
    assert (facts.root, facts.head_sha) == (repo, git(repo, "rev-parse", "HEAD"))
    assert (facts.branch, facts.dirty) == ("main", False)
    (repo / "app.py").touch()
    (repo / "new.py").write_text("new")
    before = tree_of(repo)
    assert (await store.inspect(repo)).dirty_paths == ("new.py",)
    assert tree_of(repo) == before
    git(repo, "checkout", "-q", "--detach")
    assert (await store.inspect(repo)).branch == ""


async def test_refuses_what_is_no_checkout(tmp_path: Path) -> None:
    store, repo = GitStore(tmp_path / "state"), person(tmp_path)
    (tmp_path / "plain").mkdir()
    git(tmp_path, "init", "-q", "--bare", "bare")
    git(tmp_path, "init", "-q", "empty")
    git(tmp_path, "init", "-q", "--object-format=sha256", "sha256")
    commit(repo, "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "shallow")
    for name, says in {
        "plain": "not a git repository",
        "bare": "bare repository",
        "empty": "no commit yet",
        "shallow": "shallow clone",
        "sha256": "uses sha256 object names",
        "person/.git": "not inside a work tree",
    }.items():
        with pytest.raises(Refused, match=says) as refusal:
            await store.inspect(tmp_path / name)
        assert refusal.value.hint
    with pytest.raises(NoSuchThing):
        await store.inspect(tmp_path / "nowhere")


async def test_a_snapshot_is_a_clean_checkout_that_the_persons_work_does_not_disturb(tmp_path: Path) -> None:
    repo, store = person(tmp_path), GitStore(tmp_path / "state")
    base = (await store.inspect(repo)).head_sha
    hook = repo / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    before = tree_of(repo)
    source = await store.snapshot(repo, base, "b1")
    assert tree_of(repo) == before
    assert not (tmp_path / "hooked").exists()
    commit(repo, "second", app__py="two\n")
    assert await store.snapshot(repo, base, "b1") == source
    assert git(source, "status", "--porcelain") == ""
    assert git(source, "for-each-ref", "--format=%(refname) %(objectname)") == f"refs/heads/base {base}"
    assert git(source, "symbolic-ref", "HEAD") == "refs/heads/base"
    assert git(source, "remote") == ""
    assert (source / "app.py").read_text() == "one\n"
    assert git(store.bare(repo), "rev-parse", "refs/supervisor/b1/base") == base
    await store.destroy_source("b1")
    await store.destroy_source("b1")
    assert not source.exists()


async def test_a_base_that_no_branch_holds_any_more_can_still_be_fetched(tmp_path: Path) -> None:
    repo, store = person(tmp_path), GitStore(tmp_path / "state")
    lost = commit(repo, "second", app__py="two\n")
    git(repo, "reset", "-q", "--hard", "HEAD^")
    source = await store.snapshot(repo, lost, "b1")
    assert (source / "app.py").read_text() == "two\n"
    with pytest.raises(NoSuchThing):
        await store.snapshot(repo, "HEAD", "b2")
    with pytest.raises(GitFailed):
        await store.snapshot(repo, "1" * 40, "b3")
    assert not store.source("b3").exists()


async def test_what_mngr_does_to_a_source_works(tmp_path: Path) -> None:
    repo, store = person(tmp_path), GitStore(tmp_path / "state")
    source = await store.snapshot(repo, git(repo, "rev-parse", "HEAD"), "b1")
    git(tmp_path, "init", "-q", "--bare", "agent.git")
    git(
        source,
        "push",
        "-q",
        "--no-verify",
        "--force",
        "--prune",
        str(tmp_path / "agent.git"),
        "refs/heads/*:refs/heads/*",
    )
    git(tmp_path, "clone", "-q", "--branch", "base", "agent.git", "agent")
    assert (tmp_path / "agent" / "app.py").read_text() == "one\n"
    git(source, "worktree", "add", "-q", "-b", "agent/1", str(tmp_path / "worktree"), "base")
    commit(tmp_path / "worktree", "[FIX_TEST] x", app__py="three\n")


async def test_a_checkout_is_clean_and_alone(tmp_path: Path) -> None:
    repo, store = person(tmp_path), GitStore(tmp_path / "state")
    base = git(repo, "rev-parse", "HEAD")
    await store.snapshot(repo, base, "b1")
    one, two = await asyncio.gather(*(store.checkout(repo, base, tmp_path / name) for name in ("one", "two")))
    (one / "app.py").write_text("broken")
    assert (two / "app.py").read_text() == "one\n"
    await store.discard(one)
    assert git(two, "status", "--porcelain") == ""


async def test_packing_keeps_every_batch_until_it_is_forgotten(tmp_path: Path) -> None:
    repo, store = person(tmp_path), GitStore(tmp_path / "state")
    base = git(repo, "rev-parse", "HEAD")
    await store.snapshot(repo, base, "b1")
    await store.maintain(repo)
    assert git(store.bare(repo), "rev-parse", "refs/supervisor/b1/base") == base
    await store.forget("b1")
    assert git(store.bare(repo), "for-each-ref") == ""


async def test_a_snapshot_that_nothing_came_of_is_told_from_work(tmp_path: Path) -> None:
    """By its refs, and by what is kept of its attempts."""
    repo, store = person(tmp_path), GitStore(tmp_path / "state")
    base = git(repo, "rev-parse", "HEAD")
    assert await store.untouched() == []
    for batch in ("b1", "b2", "b3"):
        await store.snapshot(repo, base, batch)
    git(store.bare(repo), "update-ref", "refs/supervisor/b2/1/rescued/1", base)
    (store.source("b3").parent / "attempts" / "1-1").mkdir(parents=True)
    assert await store.untouched() == ["b1"]

    await store.forget("b1")
    await store.forget("b1")
    assert not store.source("b1").parent.exists()
    refs = git(store.bare(repo), "for-each-ref", "--format=%(refname)").split()
    assert {ref.split("/")[2] for ref in refs} == {"b2", "b3"}
    assert await store.untouched() == []


async def test_a_git_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    repo = person(tmp_path)
    git(repo, "config", "alias.hang", f"!echo $$ > {tmp_path}/pid; sleep 60")
    with pytest.raises(GitFailed, match=r"did not end within 0\.5 seconds"):
        await run_git(repo, "hang", timeout=0.5)
    pid = int((tmp_path / "pid").read_text())
    await until("the child is gone", lambda: not psutil.pid_exists(pid))


async def test_no_configuration_but_ours_is_read(tmp_path: Path) -> None:
    repo = person(tmp_path)
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Somebody\n[alias]\n\tx = !false\n")
    listed = (await run_git(repo, "config", "--list", env={"HOME": str(tmp_path)})).decode()
    assert "Somebody" not in listed
    assert "core.hookspath=/dev/null" in listed


async def test_changes_are_integrated_and_landed_without_touching_the_persons_work(tmp_path: Path) -> None:
    repo, store = person(tmp_path), GitStore(tmp_path / "state")
    hook = repo / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    base = git(repo, "rev-parse", "HEAD")
    source = await store.snapshot(repo, base, "b1")
    head = commit(source, "[FIX_IMPL] two", app__py="two\n")
    git(store.bare(repo), "fetch", "-q", str(source), "+HEAD:refs/supervisor/b1/1/1")
    hook.chmod(0o755)
    (repo / "app.py").write_text("uncommitted\n")
    before = {name: found for name, found in tree_of(repo).items() if not name.startswith(".git/objects")}

    changes = read_changes(store.bare(repo), base, head, 1)
    assert [(change.kind, change.subject, change.paths) for change in changes] == [("FIX_IMPL", "two", ("app.py",))]
    result = integrate(store.bare(repo), base, "b1", [Work(1, "test_two", changes)])
    assert integrate(store.bare(repo), base, "b1", [Work(1, "test_two", changes)]) == result
    await store.pin(repo, result.head, "refs/supervisor/b1/integrated/1")
    assert git(store.bare(repo), "rev-parse", "refs/supervisor/b1/integrated/1") == result.head

    assert await store.land(repo, result.head, "supervisor/b1") == "supervisor/b1"
    assert await store.land(repo, result.head, "supervisor/b1") == "supervisor/b1"
    after = {name: found for name, found in tree_of(repo).items() if not name.startswith(".git/objects")}
    assert after.keys() - before.keys() == {f".git/{kind}heads/supervisor/b1" for kind in ("refs/", "logs/refs/")}
    assert {name: after[name] for name in before} == before
    assert not (tmp_path / "hooked").exists()
    assert git(repo, "show", "supervisor/b1:app.py") == "two"
    assert await store.land(repo, base, "supervisor/b1") == "supervisor/b1-2"


async def test_what_a_crash_has_left_is_removed(tmp_path: Path) -> None:
    repo, store = person(tmp_path), GitStore(tmp_path / "state")
    base = git(repo, "rev-parse", "HEAD")
    await store.snapshot(repo, base, "b1")
    bare = store.bare(repo)
    before = tree_of(tmp_path / "state")
    (bare / "refs" / "supervisor" / "b1" / "base.lock").touch()
    (bare / "packed-refs.lock").touch()
    (bare / "incoming-x").mkdir()
    (bare / "incoming-x" / "pack").touch()
    (bare.parent / "other.partial").mkdir()
    (store.source("b2").with_name(".source.partial")).mkdir(parents=True)
    with pytest.raises(GitFailed):
        await store.forget("b1")
    await store.recover()
    assert tree_of(tmp_path / "state") == before
    await store.forget("b1")
