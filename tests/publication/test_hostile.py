"""What an agent may try: each attempt ends in a named refusal, and nothing outside its own folder and ref changes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.adapters.git.store import GitStore
from supervisor.errors import Hostile
from supervisor.model.attempt import AttemptKey, ref_of
from supervisor.publication.archive import unpack
from supervisor.publication.quarantine import Quarantine
from supervisor.publication.rules.outcome import parse_outcome
from tests.agent_clone import AgentClone, git
from tests.publication.attacks_archive import ARCHIVES, END, ESCAPES, GOOD, OUTCOMES, WORTHLESS, entry
from tests.publication.attacks_bundle import BUNDLES, Attack, merge, orphan, submodule


def world(root: Path, *but: Path) -> dict[str, object]:
    """All that is below `root`, except what lies in the given folders."""
    found: dict[str, object] = {}
    for path in root.rglob("*"):
        if not any(path == one or one in path.parents for one in but):
            content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
            found[str(path.relative_to(root))] = (path.lstat().st_mode, content)
    return found


@pytest.mark.parametrize("case", ARCHIVES)
def test_an_archive_is_refused_in_part(tmp_path: Path, case: str) -> None:
    attack, reason = ARCHIVES[case]
    (tmp_path / "job").mkdir()
    archive = tmp_path / "job" / "published.tar"
    archive.write_bytes(GOOD + attack + END)
    into = tmp_path / "job" / "collected"
    before = world(tmp_path, into)
    publication = unpack(archive, into)
    assert reason in {refusal.reason for refusal in publication.refusals}
    assert world(tmp_path, into) == before
    assert publication.outcome is not None
    assert publication.outcome.changes == ()
    assert publication.believable == (reason == "member-too-large")
    assert publication.bundle
    assert publication.bundle.read_bytes() == b"b"
    assert all(path.is_dir() or path.is_file() for path in into.rglob("*"))
    assert not any(path.is_symlink() for path in into.rglob("*"))


@pytest.mark.parametrize("case", WORTHLESS)
def test_a_worthless_archive_is_refused_whole(tmp_path: Path, case: str) -> None:
    attack, reason = WORTHLESS[case]
    archive = tmp_path / "published.tar"
    archive.write_bytes(attack)
    before = world(tmp_path)
    with pytest.raises(Hostile) as refusal:
        unpack(archive, tmp_path / "collected")
    assert refusal.value.reason == reason
    assert world(tmp_path) == before


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "nothing"])
def test_an_archive_that_is_no_plain_file_is_refused(tmp_path: Path, kind: str) -> None:
    archive = tmp_path / "published.tar"
    if kind == "link":
        (tmp_path / "real.tar").write_bytes(GOOD + END)
        archive.symlink_to(tmp_path / "real.tar")
    elif kind == "pipe":
        os.mkfifo(archive)
    elif kind == "folder":
        archive.mkdir()
    with pytest.raises(Hostile) as refusal:
        unpack(archive, tmp_path / "collected")
    assert refusal.value.reason == "not-a-file"


@pytest.mark.parametrize("case", OUTCOMES)
def test_an_outcome_is_refused_but_its_commits_are_kept(tmp_path: Path, case: str) -> None:
    data, reason = OUTCOMES[case]
    archive = tmp_path / "published.tar"
    archive.write_bytes(entry(b"outcome.json", data) + entry(b"branch.bundle", b"b") + END)
    publication = unpack(archive, tmp_path / "collected")
    assert publication.bundle
    assert not publication.believable
    too_large = len(data) > 256 * 1024
    assert ("member-too-large" if too_large else reason) in {refusal.reason for refusal in publication.refusals}
    with pytest.raises(Hostile) as refusal:
        parse_outcome(data)
    assert refusal.value.reason == reason


@pytest.mark.parametrize("case", ESCAPES)
def test_terminal_escapes_never_pass(case: str) -> None:
    said = '{"changes": {"TEXT": {"status": "FAILED"}}, "summary_markdown": "TEXT"}'
    data = said.replace("TEXT", ESCAPES[case])
    outcome = parse_outcome(data.encode())
    for text in (outcome.summary, outcome.changes[0].kind):
        assert text.isprintable()
        assert "red" in text


@pytest.mark.parametrize("case", BUNDLES)
async def test_a_bundle_is_refused_without_a_trace(tmp_path: Path, case: str) -> None:
    make, reason = BUNDLES[case]
    attack = Attack(AgentClone.make(tmp_path / "agent"))
    repo = tmp_path / "person"
    git(tmp_path, "clone", "-q", "--branch", "base", str(attack.work), str(repo))
    store = GitStore(tmp_path / "state")
    await store.snapshot(repo, attack.base, "b1")
    make(attack)
    before = world(tmp_path)
    with pytest.raises(Hostile) as refusal:
        await Quarantine(store).import_bundle(
            repo, attack.path, AttemptKey("b1", 1, 1), base=attack.base, head=attack.head
        )
    assert refusal.value.reason == reason, refusal.value.message
    assert world(tmp_path) == before


async def test_an_honest_bundle_brings_its_commits_and_one_ref(tmp_path: Path) -> None:
    attack = Attack(AgentClone.make(tmp_path / "agent"))
    store = GitStore(tmp_path / "state")
    await store.snapshot(attack.work, attack.base, "b1")
    attack.clone.commit("[FIX_TEST] wait", test_app__py="wait\n")
    (attack.work / "docs").mkdir()
    (attack.work / "docs" / "link").symlink_to("../app.py")
    attack.bundle(attack.clone.commit("[FIX_IMPL] two", app__py="two\n"))
    bare, key = store.bare(attack.work), AttemptKey("b1", 1, 1)
    refs = git(bare, "for-each-ref").splitlines()
    for _ in range(2):  # once more after a crash is fine
        imported = await Quarantine(store).import_bundle(
            attack.work, attack.path, key, base=attack.base, head=attack.head
        )
        assert (imported.head, imported.commits) == (attack.head, 2)
    assert set(git(bare, "for-each-ref").splitlines()) - set(refs) == {f"{attack.head} commit\t{ref_of(key)}"}
    assert not list(bare.glob("incoming-*"))
    git(bare, "fsck", "--strict")


@pytest.mark.parametrize("make", [orphan, merge, submodule])
async def test_a_rescue_keeps_what_may_not_be_integrated(tmp_path: Path, make: Callable[[Attack], None]) -> None:
    attack = Attack(AgentClone.make(tmp_path / "agent"))
    store = GitStore(tmp_path / "state")
    await store.snapshot(attack.work, attack.base, "b1")
    make(attack)
    key = AttemptKey("b1", 1, 1)
    await Quarantine(store).import_bundle(attack.work, attack.path, key, base=attack.base, rescued=True)
    assert git(store.bare(attack.work), "rev-parse", "refs/supervisor/b1/1/rescued/1") == attack.head
