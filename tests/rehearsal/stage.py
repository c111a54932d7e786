"""A stage for the rehearsal: the target in a clone of its own, pytest in it, and the agent under the contract."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervisor.rehearsal import AGENT, DEFECTS
from tests.zygote import programs

KNOWN: dict[str, Any] = json.loads(DEFECTS.read_text())
SEEDS: dict[str, Any] = KNOWN["tests"]
FIXES = {
    test: change
    for test, seed in SEEDS.items()
    for change in seed.get("changes", [])
    if change["kind"] == "FIX_IMPL" and change["edits"]
}
BROKEN = sorted(test for test, seed in SEEDS.items() if seed["defect"] == "implementation")
PAIR = sorted(test for test, seed in SEEDS.items() if "conflicts_with" in seed)
UNMENDED = {test for test, seed in SEEDS.items() if seed["expected"]["outcome"] in ("failed", "blocked")}
MERGED = {test: seed for test, seed in SEEDS.items() if seed["expected"]["ledger"] == "merged"}
PYTEST = ["forked-pytest", "-q", "-p", "supervisor.e2e.plugin"]
WHO = {"GIT_CONFIG_GLOBAL": os.devnull, "EMAIL": "agent@example.invalid"}
WHO |= {"GIT_AUTHOR_NAME": "agent", "GIT_COMMITTER_NAME": "agent"}


def environment() -> dict[str, str]:
    """What a user's shell would give: this Python first on PATH, and no plugin but the one that the target needs."""
    path = f"{programs()}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "LANG": "C.UTF-8", "HOME": os.environ["HOME"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **WHO}


def git(repo: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=repo, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def clone(base: Path, path: Path) -> Path:
    git(base, "clone", "--quiet", "--local", str(base), str(path))
    return path


def failures(repo: Path, *nodes: str) -> set[str]:
    """The node ids that fail there."""
    words = [*PYTEST, "-rfE", "--tb=no", *nodes]
    done = subprocess.run(words, cwd=repo, env=environment(), capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "ERROR" not in done.stdout, done.stdout
    return set(re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE))


def make(repo: Path, edits: list[dict[str, Any]]) -> None:
    for edit in edits:
        file, text = repo / edit["path"], "\n".join(edit["find"])
        assert file.read_text().count(text) == 1, f"not once in {edit['path']}: {text}"
        file.write_text(file.read_text().replace(text, "\n".join(edit["replace"])))


def commit(repo: Path, change: dict[str, Any]) -> str:
    """Make one change of a seed, as a commit of its kind."""
    make(repo, change["edits"])
    git(repo, "commit", "--quiet", "--all", "-m", f"[{change['kind']}] {change['subject']}")
    return git(repo, "rev-parse", "HEAD")


@dataclass(frozen=True)
class Stage:
    """One agent's clone, and its desk: the folder with its prompt, its outcome and what it published."""

    repo: Path
    desk: Path

    @classmethod
    def set_up(cls, base: Path, path: Path) -> "Stage":
        desk = path / "desk"
        desk.mkdir(parents=True)
        publish = 'cp "$SUPERVISOR_OUTCOME" "$DESK/published.tmp" && mv "$DESK/published.tmp" "$DESK/published.json"'
        (desk / "publish").write_text(f"#!/bin/sh\n{publish}\necho thank you\n")
        return cls(clone(base, path / "repo"), desk)

    def contract(self, test: str, attempt: int = 1, role: str = "tester", run: str = "") -> dict[str, str]:
        return environment() | {
            "DESK": str(self.desk),
            "MNGR_AGENT_STATE_DIR": str(self.desk),
            "SUPERVISOR_ROLE": role,
            "SUPERVISOR_ATTEMPT": str(attempt),
            "SUPERVISOR_TEST": test,
            "SUPERVISOR_RUN": run or shlex.join([*PYTEST, test]),
            "SUPERVISOR_PROMPT": str(self.desk / "prompt.md"),
            "SUPERVISOR_OUTCOME": str(self.desk / "outcome.json"),
            "SUPERVISOR_PUBLISH": f"sh {self.desk / 'publish'}",
            "SUPERVISOR_BASE": git(self.repo, "rev-parse", "origin/main"),
        }

    @contextmanager
    def started(self, contract: dict[str, str], *options: str) -> Iterator[subprocess.Popen[str]]:
        """The agent, alone as on a bare host (`-I`: nothing of ours can be imported), and gone in the end."""
        words = [sys.executable, "-I", "-S", str(AGENT), *options]
        with subprocess.Popen(
            words, cwd=self.repo, env=contract, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def play(self, contract: dict[str, str], *options: str) -> int:
        """The agent from beginning to end; it is told to publish, should it listen."""
        with self.started(contract, *options) as process:
            process.communicate("please publish\n", timeout=60)
            return process.returncode

    @property
    def published(self) -> dict[str, Any] | None:
        file = self.desk / "published.json"
        return json.loads(file.read_text()) if file.exists() else None

    @property
    def steps(self) -> list[dict[str, Any]]:
        file = self.desk / "events" / "rehearsal" / "events.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def subjects(self) -> list[str]:
        return git(self.repo, "log", "--reverse", "--format=%s", "origin/main..HEAD").splitlines()

    def said(self, words: str) -> bool:
        return any(words in step["message"] for step in self.steps)
