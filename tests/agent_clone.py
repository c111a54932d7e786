"""A clone as an agent has it, with the folder that the publish tool works in."""

import json
import os
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PUBLISH = Path(__file__).parents[1] / "supervisor" / "agents" / "publish"

GOOD_OUTCOME = {
    "schema_version": 1,
    "changes": {"FIX_TEST": {"status": "SUCCEEDED", "summary_markdown": "Waits for the prompt."}},
    "errored": False,
    "blocked": None,
    "tests_passing_before": False,
    "tests_passing_after": True,
    "summary_markdown": "The test was racy.",
    "test_runs": [{"run_name": "try_1", "description_markdown": "red"}],
    "escalations": [],
}


def git(where: Path, *args: str, **env: str) -> str:
    """Run git as on a machine with no configuration at all, but for a name."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    names = {f"GIT_{who}_{what}": "t@t.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    bare = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *args],
        cwd=where,
        env=clean | names | dates | bare | env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"git {args}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="surrogateescape").strip()


def commit(where: Path, subject: str, **files: str | bytes) -> str:
    """Write the files (`__` in a name stands for `.`, as in `app__py`), commit all and return the commit."""
    for name, content in files.items():
        path = where / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(where, "add", "-A")
    git(where, "commit", "-qm", subject, "--allow-empty")
    return git(where, "rev-parse", "HEAD")


@dataclass
class AgentClone:
    """`home` holds `work`, the repository with one base commit, and `state`, the agent's state directory."""

    home: Path
    base: str = ""
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, home: Path) -> "AgentClone":
        clone = cls(home)
        (clone.folder / "artifacts").mkdir(parents=True)
        clone.work.mkdir(parents=True)
        git(clone.work, "init", "-q", "-b", "base")
        clone.base = commit(clone.work, "base", app__py="one\n", test_app__py="assert\n", __gitignore="*.log\n")
        git(clone.work, "switch", "-qc", "agent/1")
        clone.write_outcome(GOOD_OUTCOME)
        return clone

    @property
    def work(self) -> Path:
        return self.home / "work"

    @property
    def folder(self) -> Path:
        return self.home / "state" / "supervisor"

    def write_outcome(self, outcome: object) -> None:
        (self.folder / "outcome.json").write_text(outcome if isinstance(outcome, str) else json.dumps(outcome))

    def commit(self, subject: str, **files: str | bytes) -> str:
        return commit(self.work, subject, **files)

    def publish(self, *args: str, cwd: Path | None = None, path: str = "") -> subprocess.CompletedProcess[str]:
        """Run the tool as `sh -c "$SUPERVISOR_PUBLISH"` does, on a machine with no git identity."""
        state = self.folder.parent
        env = {
            "PATH": path or os.environ["PATH"],
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "MNGR_AGENT_STATE_DIR": str(state),
            "MNGR_AGENT_WORK_DIR": str(self.work),
            "SUPERVISOR_BASE": self.base,
            "SUPERVISOR_BATCH": "b1",
            "SUPERVISOR_JOB": "j1",
            "SUPERVISOR_ATTEMPT": "1",
            "SUPERVISOR_OUTCOME": str(self.folder / "outcome.json"),
            "SUPERVISOR_PUBLISH": " ".join([f'sh "{PUBLISH}"', *args]),
        } | self.env
        return subprocess.run(
            ["sh", "-c", 'sh -c "$SUPERVISOR_PUBLISH"'],
            cwd=cwd or self.work,
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )

    def published(self, name: str = "published.tar") -> dict[str, bytes]:
        with tarfile.open(self.folder / name) as archive:
            return {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]

    def meta(self, name: str = "published.tar") -> dict[str, Any]:
        meta = json.loads(self.published(name)["meta.json"])
        assert isinstance(meta, dict)
        return meta

    def bundled(self, name: str = "published.tar") -> Path:
        """A repository that holds the base and, on branch `work`, what the bundle brought."""
        into = self.home / f"into-{name}"
        git(self.home, "clone", "-q", "--bare", "--single-branch", "--branch", "base", str(self.work), str(into))
        rescued = self.folder / "rescued.bundle"
        bundle = self.published(name)["branch.bundle"] if name == "published.tar" else rescued.read_bytes()
        (into / "b.bundle").write_bytes(bundle)
        git(into, "fetch", "-q", "b.bundle", "refs/heads/work:refs/heads/work")
        return into


def half_rebased(home: Path) -> AgentClone:
    clone = AgentClone.make(home)
    git(clone.work, "switch", "-qc", "other")
    clone.commit("[FIX_IMPL] other", app__py="other\n")
    git(clone.work, "switch", "-q", "agent/1")
    clone.commit("[FIX_IMPL] mine", app__py="mine\n", extra__py="extra\n")
    with pytest.raises(AssertionError, match="conflict"):
        git(clone.work, "rebase", "other")
    return clone
