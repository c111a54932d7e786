"""What is true of what writers write, on real git, bash and pytest; and what people are shown of it."""

import base64
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.e2e.tutorial.blocks import parse
from supervisor.e2e.tutorial.writing import Task, seed_tasks
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.job import Brought, Job
from supervisor.model.profile import Profile
from supervisor.model.verdict import Verdict
from supervisor.verification.judge import ProvingJudge, opened_judge
from supervisor.verification.writers.writing import read_proposal
from tests.agent_clone import commit, git

TUTORIAL = "# greet\ngreet ann\n\n# Greeting many\n"
GREET = '#!/bin/sh\n[ $# -gt 0 ] || { echo "greet whom?" >&2; exit 3; }\nfor who; do echo "hello $who"; done\n'
[SEED] = seed_tasks("tutorial.sh", parse(TUTORIAL).seeds)
[GREET_ANN] = parse(TUTORIAL).blocks
BLOCK = Task("block:x", "block", "tutorial.sh", text=GREET_ANN.text, tests="tests", block=GREET_ANN.id)
#: what its tests are cited by: a fixture called e2e that runs commands
E2E = """\
import subprocess

import pytest


class E2e:
    def run(self, command):
        return subprocess.run(["sh", "-c", f"PATH=bin:$PATH {command}"])


@pytest.fixture
def e2e():
    return E2e()


"""
HAPPY = '''\
def test_one(e2e):
    """Says hello.

    Tutorial block:
        # greet
        greet ann
    """
    assert e2e.run("greet ann").returncode == 0
'''
UNHAPPY = HAPPY.replace("test_one", "test_none").replace('"greet ann").returncode == 0', '"greet").returncode != 0')


@dataclass
class Desk:
    """A tutorial with a seed and an uncited block, and a judge of what is written for them."""

    folder: Path
    judge: ProvingJudge
    store: GitStore
    repo: Path
    base: str

    async def verdict(
        self, task: Task, claim: str = "fixed", files: Mapping[str, str] | None = None, outcome: Any = None
    ) -> Verdict:
        profile = Profile(
            pytest=(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            test_timeout_seconds=10,
        )
        tasks = (json.dumps(asdict(task)),)
        batch = Batch("b", 1, str(self.repo), self.base, (task.item,), profile, 0.0, role="writer", tasks=tasks)
        job = Job(1, task.item, brought=Brought(claim), detail="done", attempts=1)
        published = Layout(self.folder / "state").attempt(AttemptKey("b", 1, 1)) / "published"
        published.mkdir(parents=True, exist_ok=True)
        (published / "outcome.json").write_text(json.dumps(outcome or {}))
        if files:
            head = commit(self.repo, "[FIX_TUTORIAL] written", **files)
            bare = self.store.bare(self.repo)
            git(bare, "fetch", "-q", str(self.repo), f"+{head}:refs/supervisor/b/1/1")
            git(self.repo, "reset", "-q", "--hard", self.base)
            job = replace(job, brought=Brought(claim, head, 1))
        return await self.judge.verify(batch, job)

    async def filled(self, *commands: str, task: Task = SEED) -> Verdict:
        text = TUTORIAL.replace("# Greeting many", "\n".join(["# Greeting many", *commands]))
        return await self.verdict(task, files={"tutorial.sh": text})

    async def proposal(self) -> dict[str, Any]:
        text = await read_proposal(Layout(self.folder / "state"), AttemptKey("b", 1, 1))
        assert text is not None
        found: dict[str, Any] = msgspec.json.decode(text)
        return found


@asynccontextmanager
async def desk(folder: Path) -> AsyncIterator[Desk]:
    repo, store = folder / "repo", GitStore(folder / "state")
    (repo / "bin").mkdir(parents=True)
    git(repo, "init", "-q", "-b", "main")
    (repo / "bin" / "greet").write_text(GREET)
    (repo / "bin" / "greet").chmod(0o755)
    git(repo, "add", "bin")
    base = commit(repo, "base", tutorial__sh=TUTORIAL)
    await store.snapshot(repo, base, "b")
    yield Desk(folder, await opened_judge(store, Layout(folder / "state")), store, repo, base)
    assert list((folder / "state" / "verify" / "trials").glob("*")) == []


async def test_a_filled_seed_is_executed_and_its_output_kept(tmp_path: Path) -> None:
    """In an empty folder, by bash, with the clone's own tools first; its commits are kept as they are."""
    async with desk(tmp_path) as here:
        verdict = await here.filled("greet bob ann", "[[ -z $(ls) ]] && pwd")

        assert (verdict.outcome, verdict.verification) == ("fixed", "verified")
        kept = await here.proposal()
        assert kept["text"] == "# Greeting many\ngreet bob ann\n[[ -z $(ls) ]] && pwd"
        assert kept["block"].startswith("greet-bob-ann-")
        lines = kept["execution"]["output"].splitlines()
        assert lines[:4] == ["# Greeting many", "greet bob ann", "hello bob", "hello ann"]
        assert not lines[-1].startswith(str(here.repo))
        assert base64.b64decode(kept["bundle"]).startswith(b"# v2 git bundle")
        assert git(here.repo, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("commands", "reason"),
    [
        (["greet bob", "greet", "greet ann"], "`greet` fails: exit code 3"),
        (["greet bob | grep nobody | cat"], "`cat` fails: exit code 1"),  # bash knows a pipeline by its last command
        (["no-such-tool --at all"], "`no-such-tool --at all` fails: exit code 127"),
        (["greet $UNSET"], "`bash` fails: exit code 1"),
        (["# still thinking"], "it is not exactly one block"),
        (["greet bob", "", "greet ann"], "it is not exactly one block"),
    ],
)
async def test_a_proposal_that_fails_is_reported_with_its_command(
    commands: list[str], reason: str, tmp_path: Path
) -> None:
    async with desk(tmp_path) as here:
        verdict = await here.filled(*commands)
        assert (verdict.outcome, verdict.verification, verdict.reason) == ("failed", "unverified", reason)
        assert (await here.proposal())["reason"] == reason


async def test_a_proposal_that_does_not_end_is_killed(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        verdict = await here.filled("sleep 3600")
        assert verdict.reason == "it does not end in time"


async def test_a_seed_is_filled_in_the_script_alone(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        filled = TUTORIAL + "greet bob\n"
        verdict = await here.verdict(SEED, files={"tutorial.sh": filled, "bin/greet": "exit 0\n"})
        assert (verdict.outcome, verdict.verification) == ("failed", "refused")
        assert "bin" in verdict.reason


async def test_what_confused_a_writer_is_kept_whatever_becomes_of_its_work(tmp_path: Path) -> None:
    """Bounded and clean: it is shown on a terminal."""
    confusions = [{"command": "greet \x1b[31m--all", "why": "w" * 5000}, "nonsense", {"why": None}]
    async with desk(tmp_path) as here:
        verdict = await here.verdict(SEED, claim="blocked", outcome={"blocked": "how?", "confusions": confusions})

        assert (verdict.outcome, verdict.verification) == ("blocked", "not-needed")
        first, second = (await here.proposal())["confusions"]
        assert first["command"] == "greet --all"
        assert len(first["why"]) == 1000
        assert second == {"command": "", "why": ""}


async def test_a_writer_that_wrote_nothing_has_failed(tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        verdict = await here.verdict(SEED, claim="clean")
        assert (verdict.outcome, verdict.reason) == ("failed", "it has written nothing")


async def test_tests_of_a_block_must_pass_and_cite_it(tmp_path: Path) -> None:
    """Happy and unhappy; and a test that never fails is only as good as its runs."""
    async with desk(tmp_path) as here:
        verdict = await here.verdict(BLOCK, "improved", files={"tests/test_greet.py": E2E + HAPPY + "\n\n" + UNHAPPY})
        assert (verdict.outcome, verdict.verification) == ("improved", "verified")
        assert verdict.reason == "2 tests passed 2 of 2"
        verdict = await here.verdict(BLOCK, "improved", files={"tests/test_greet.py": E2E + HAPPY})
        assert verdict.reason == "1 test passed 2 of 2; none of them for the unhappy path"


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (HAPPY.replace("        greet ann\n", "        greet bob\n"), "1 stale citations, where 0 may be"),
        (HAPPY.replace("Tutorial block:", "Block:"), "no test cites greet-ann-"),
        (HAPPY.replace('"greet ann"', '"true"'), "runs none of its commands"),
        (HAPPY.replace('"greet ann"', '"greet ann\\nfalse"'), "it fails: "),
        (HAPPY.replace("    assert", "    pytest.skip()\n    assert"), "skip: "),
        ("def test_one(:\n", "unreadable: "),
    ],
)
async def test_tests_that_prove_nothing_do_not_count(test: str, reason: str, tmp_path: Path) -> None:
    async with desk(tmp_path) as here:
        verdict = await here.verdict(BLOCK, "improved", files={"tests/test_greet.py": E2E + test})
        assert verdict.outcome == "failed"
        assert reason in verdict.reason
        assert (await here.proposal())["verification"] in ("unverified", "refused")


async def test_a_stale_citation_is_repaired_when_its_test_is(tmp_path: Path) -> None:
    """Words and deeds: a test that only quotes anew and then fails is refused, and so is one that stays as it was."""
    async with desk(tmp_path) as here:
        old = E2E + HAPPY.replace("greet ann", "greet an")
        here.base = commit(here.repo, "stale", **{"tests/test_greet.py": old})
        await here.store.snapshot(here.repo, here.base, "b2")
        task = replace(BLOCK, kind="stale", test="tests/test_greet.py::test_one", stale_before=1)

        assert "still cites" in (await here.verdict(task, files={"tests/test_greet.py": old + "\n# more\n"})).reason
        broken = E2E + HAPPY.replace("== 0", "== 7")
        assert "it fails" in (await here.verdict(task, files={"tests/test_greet.py": broken})).reason
        assert (await here.verdict(task, files={"tests/test_greet.py": E2E + HAPPY})).verification == "verified"
