"""A repository with a small tool, a judge, and agents that have committed something: for tests of evidence."""

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.model.batch import Batch
from supervisor.model.evidence import Evidence
from supervisor.model.job import Brought, Job
from supervisor.model.profile import Profile
from supervisor.model.verdict import Verdict
from supervisor.verification.judge import ProvingJudge
from supervisor.verification.trials.asking import AnyTrials
from supervisor.verification.trials.trial import Trials
from tests.agent_clone import git

TOOL = """\
import sys


def double(n):
    if n < 0:
        return 0
    return n + n + 1


def half(n):
    return n // 2


def main(words):
    if words[:1] != ["double"]:
        print("no such command", file=sys.stderr)
        return 2
    print(double(int(words[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
FIXED = TOOL.replace("n + n + 1", "n + n")

TESTS = """\
import subprocess
import sys

from tool import double, half


def test_double():
    assert double(2) == 4


def test_half():
    assert half(4) == 2


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, **more)


def test_refused():
    assert run(sys.executable, "tool.py", "triple", "2").returncode == 2


def test_printed():
    result = run(sys.executable, "tool.py", "double", "2")
    assert result.stdout == "4\\n"


def test_printed_without_an_environment():
    result = run(sys.executable, "tool.py", "double", "2", env={})
    assert result.stdout == "4\\n"


def test_greeting():
    assert run("bin/greet", "you").stdout == "hello you\\n"


def test_noted(tmp_path):
    run("sh", "bin/note", str(tmp_path / "note"))
    assert (tmp_path / "note").read_text() == "noted\\n"
"""

FILES: Mapping[str, str] = {
    "tool.py": TOOL,
    "tests/test_tool.py": TESTS,
    "bin/greet": '#!/bin/sh\necho "hello $1"\n',
    "bin/note": 'echo noted > "$1"\n',
    "words.txt": "one\ntwo\n",
    "conftest.py": "import pathlib\nimport sys\n\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n",
    ".gitignore": "__pycache__/\n",
}


def node(name: str) -> str:
    return f"tests/test_tool.py::test_{name}"


@dataclass
class Courtroom:
    repo: Path
    base: str
    store: GitStore
    judge: ProvingJudge
    profile: Profile
    count: int = 0

    async def verdict(self, test: str, claim: str, files: Mapping[str, str | None], **profile: Any) -> Verdict:
        """Of an agent that committed these files; None: it deleted one."""
        self.count += 1
        git(self.repo, "reset", "-q", "--hard", self.base)
        lay_out(self.repo, files)
        kind = "IMPROVE_TEST" if claim == "improved" else "FIX_IMPL"
        git(self.repo, "add", "-A")
        git(self.repo, "commit", "-qm", f"[{kind}] x")
        head = git(self.repo, "rev-parse", "HEAD")
        bare = self.store.bare(self.repo)
        git(bare, "fetch", "-q", str(self.repo), f"{head}:refs/supervisor/b/1/{self.count}")
        job = Job(1, test, brought=Brought(claim, head, 1), detail="done", attempts=1)
        batch = Batch("b", 1, str(self.repo), self.base, (test,), replace(self.profile, **profile), 0.0)
        return await self.judge.verify(batch, job)

    async def edited(
        self, test: str, claim: str = "improved", tool: str = TOOL, *swaps: tuple[str, str], **profile: Any
    ) -> Verdict:
        """Of an agent that committed this tool, and this in its tests."""
        text = TESTS
        for old, new in swaps:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        return await self.verdict(test, claim, {"tool.py": tool, "tests/test_tool.py": text}, **profile)


def lay_out(folder: Path, files: Mapping[str, str | None]) -> None:
    for path, text in files.items():
        file = folder / path
        if text is None:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755 if path == "bin/greet" else 0o644)


@asynccontextmanager
async def courtroom(
    folder: Path, trials: Callable[[GitStore, Path], AnyTrials] = Trials, /, **more: str
) -> AsyncIterator[Courtroom]:
    repo, store = folder / "repo", GitStore(folder / "state")
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    lay_out(repo, {**FILES, **more})
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "base")
    base = git(repo, "rev-parse", "HEAD")
    await store.snapshot(repo, base, "b")
    judge = ProvingJudge(store, Layout(folder / "state"), trials(store, folder / "state"))
    profile = Profile(
        pytest=(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        test_timeout_seconds=20,
        verify_runs=1,
        # Enough for all that is to be shown, on any machine.
        evidence_factor=1000,
    )
    yield Courtroom(repo, base, store, judge, profile)


def shown(verdict: Verdict) -> Evidence:
    assert verdict.evidence is not None
    return verdict.evidence
