"""The publish tool: what it packs and what it refuses."""

import json
from pathlib import Path

import pytest

from tests.agent_clone import GOOD_OUTCOME, AgentClone, git, half_rebased


def one_sentence(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("publish: ")]
    assert len(lines) == 1, text
    return lines[0]


def test_packs_outcome_commits_and_artifacts(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    head = clone.commit("[FIX_TEST] wait", test_app__py="assert wait\n")
    (clone.folder / "artifacts" / "sub dir").mkdir()
    (clone.folder / "artifacts" / "sub dir" / "a b.txt").write_text("seen")
    done = clone.publish()
    assert (done.returncode, done.stdout) == (0, "published: 1 commit(s), 1 artifact(s)\n"), done.stderr
    members = clone.published()
    assert set(members) == {"meta.json", "outcome.json", "branch.bundle", "artifacts/sub dir/a b.txt"}
    assert json.loads(members["outcome.json"]) == GOOD_OUTCOME
    assert clone.meta() == {
        "schema_version": 1,
        "rescued": False,
        "commits": 1,
        "head": head,
        "base": clone.base,
        "branch": "agent/1",
        "batch": "b1",
        "job": "j1",
        "attempt": "1",
        "skipped": [],
        "notes": [],
    }
    assert git(clone.bundled(), "rev-parse", "work") == head
    assert sorted(path.name for path in clone.folder.iterdir()) == ["artifacts", "outcome.json", "published.tar"]


def test_no_commits_means_no_bundle(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    clone.write_outcome({"changes": {}})
    assert clone.publish(cwd=tmp_path).returncode == 0
    assert set(clone.published()) == {"meta.json", "outcome.json"}


def test_publishing_again_replaces(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    clone.commit("[FIX_TEST] wait", test_app__py="assert wait\n")
    clone.publish()
    head = clone.commit("[FIX_IMPL] two", app__py="two\n")
    assert clone.publish().returncode == 0
    assert clone.meta()["head"] == head
    assert git(clone.bundled(), "rev-parse", "work") == head


def test_works_without_python(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for directory in ("/usr/bin", "/bin"):
        for tool in Path(directory).iterdir():
            if not tool.name.startswith("python") and not (tools / tool.name).is_symlink():
                (tools / tool.name).symlink_to(tool)
    assert clone.publish(path=str(tools)).returncode == 0
    for broken in ("", "[]", '{"no": "changes"}', "{", "nonsense"):
        clone.write_outcome(broken)
        done = clone.publish(path=str(tools))
        assert done.returncode == 1
        assert "the outcome " in one_sentence(done.stderr)


WRONG_OUTCOMES = {
    "valid JSON": "{",
    "not a JSON object": [],
    'lacks "changes"': {},
    "unknown kind 'FIX'": {"changes": {"FIX": {"status": "SUCCEEDED"}}},
    "status in changes.DOC": {"changes": {"DOC": {"status": "ok"}}},
    "changes.DOC.summary_markdown": {"changes": {"DOC": {"status": "FAILED", "summary_markdown": 1}}},
    '"errored" that is neither': {"changes": {}, "errored": "no"},
    '"blocked" that is not a string': {"changes": {}, "blocked": True},
    '"test_runs" that is not a list': {"changes": {}, "test_runs": {}},
    'without "kind" and "title"': {"changes": {}, "escalations": [{"kind": "BLOCKER"}]},
    '"schema_version" other than 1': {"schema_version": 2, "changes": {}},
    "nested too deeply": "[" * 100_000,
    "larger than": json.dumps({"changes": {}, "x": "y" * 300_000}),
}


@pytest.mark.parametrize("says", WRONG_OUTCOMES)
def test_says_what_is_wrong_with_the_outcome(tmp_path: Path, says: str) -> None:
    clone = AgentClone.make(tmp_path)
    clone.write_outcome(WRONG_OUTCOMES[says])
    done = clone.publish()
    assert done.returncode == 1
    assert says in one_sentence(done.stderr)
    assert not (clone.folder / "published.tar").exists()


def test_a_missing_outcome_is_asked_for(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    (clone.folder / "outcome.json").unlink()
    assert "there is no outcome: write it" in one_sentence(clone.publish().stderr)


def test_uncommitted_work_is_refused(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    (clone.work / "app.py").write_text("changed\n")
    assert "uncommitted work (app.py): commit or discard" in one_sentence(clone.publish().stderr)
    git(clone.work, "checkout", "-q", "app.py")
    (clone.work / "new.py").write_text("new\n")
    assert "untracked files (new.py): commit or delete" in one_sentence(clone.publish().stderr)
    (clone.work / "new.py").unlink()
    (clone.work / "__pycache__").mkdir()
    (clone.work / "__pycache__" / "app.pyc").write_text("cache")
    assert clone.publish().returncode == 0


def test_work_beside_the_base_is_refused(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    git(clone.work, "checkout", "-q", "--orphan", "elsewhere")
    clone.commit("[FIX_TEST] from nothing")
    assert "git rebase" in one_sentence(clone.publish().stderr)


def test_merge_commits_are_refused(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    git(clone.work, "switch", "-qc", "side")
    clone.commit("[FIX_IMPL] side", side__py="side\n")
    git(clone.work, "switch", "-q", "agent/1")
    clone.commit("[FIX_TEST] main", test_app__py="wait\n")
    git(clone.work, "merge", "-q", "side", "-m", "merge")
    assert "merge commits" in one_sentence(clone.publish().stderr)


def test_a_rebase_half_done_is_named(tmp_path: Path) -> None:
    clone = half_rebased(tmp_path)
    assert "a rebase is unfinished: finish it" in one_sentence(clone.publish().stderr)


def test_a_detached_head_publishes(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    git(clone.work, "checkout", "-q", "--detach")
    head = clone.commit("[FIX_TEST] wait", test_app__py="assert wait\n")
    assert clone.publish().returncode == 0
    assert (clone.meta()["head"], clone.meta()["branch"]) == (head, "")


def test_large_and_odd_artifacts_are_left_out(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    artifacts = clone.folder / "artifacts"
    with (artifacts / "huge").open("wb") as huge:
        huge.truncate(30_000_000)
    (artifacts / "new\nline").write_text("odd")
    (artifacts / "link").symlink_to("/etc/passwd")
    (artifacts / "-rf").write_text("fine")
    assert clone.publish().returncode == 0
    assert set(clone.published()) == {"meta.json", "outcome.json", "artifacts/-rf"}
    assert clone.meta()["skipped"] == ["artifacts/huge"]
