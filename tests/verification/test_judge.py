"""What is true of a claim, on real git and real pytest: verified, flaky, unverified, or refused by policy."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.model.batch import Batch
from supervisor.model.job import Brought, Job
from supervisor.model.profile import Profile
from supervisor.model.verdict import Verdict
from supervisor.verification.judge import ProvingJudge, opened_judge
from tests.agent_clone import commit, git
from tests.verification.staying import Stayer, notes
from tests.waiting import until

APP = "def double(n):\n    return n + n + 1\n\n\ndef half(n):\n    return n // 2\n"
TESTS = (
    "from app import double, half\n\n\ndef test_double():\n    assert double(2) == 4\n\n\n"
    "def test_half():\n    assert half(4) == 2\n\n\ndef test_broken():\n    assert half(4) == 3\n"
)
FIXED = APP.replace(" + 1", "")
DOUBLE, HALF, BROKEN = (f"test_app.py::test_{name}" for name in ("double", "half", "broken"))
#: passes and fails in turn
FLAKY = FIXED + (
    "\n\nimport pathlib\nturn = pathlib.Path('TURN')\nif turn.exists():\n    turn.unlink()\n    double = half\n"
    "else:\n    turn.touch()\n"
)


@dataclass
class Court:
    """A repository with one base commit, a judge, and jobs whose agents have committed something."""

    folder: Path
    judge: ProvingJudge
    store: GitStore
    repo: Path
    base: str
    profile: Profile = field(
        default_factory=lambda: Profile(
            pytest=(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "KEY": "credential:api-key"},
            test_timeout_seconds=20,
            # What evidence shows is told in test_evidence.py.
            evidence_factor=0,
        )
    )

    def job(self, claim: str = "fixed", test: str = DOUBLE, subject: str = "[FIX_IMPL] x", **files: str) -> Job:
        """A job whose agent committed these files, or nothing."""
        if not files:
            return Job(1, test, brought=Brought(claim), detail="nothing to do", attempts=1)
        head = commit(self.repo, subject, **files)
        bare = self.store.bare(self.repo)
        git(bare, "fetch", "-q", str(self.repo), f"{head}:refs/supervisor/b/1/{head[:6]}")
        git(self.repo, "reset", "-q", "--hard", self.base)
        return Job(1, test, brought=Brought(claim, head, 1), detail="it is right now", attempts=1)

    async def verdict(self, job: Job, **profile: Any) -> Verdict:
        tests, profile = (DOUBLE, HALF, BROKEN), {"sandbox_write": (str(self.notes),)} | profile
        batch = Batch("b", 1, str(self.repo), self.base, tests, replace(self.profile, **profile), 0.0)
        return await self.judge.verify(batch, job)

    @property
    def notes(self) -> Path:
        return notes(self.folder)

    @property
    def trials(self) -> list[Path]:
        """What is left of clean checkouts."""
        return list((self.folder / "state" / "hosts").glob("*"))

    @property
    def log(self) -> str:
        return (self.folder / "state/batches/b/attempts/1-1/verification.log").read_text()


@asynccontextmanager
async def court(folder: Path) -> AsyncIterator[Court]:
    repo, store = folder / "repo", GitStore(folder / "state")
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    base = commit(repo, "base", app__py=APP, test_app__py=TESTS, __gitignore="__pycache__/\n")
    await store.snapshot(repo, base, "b")
    judge = await opened_judge(store, Layout(folder / "state"))
    here = Court(folder, judge, store, repo, base)
    yield here
    assert here.trials == [], "a clean checkout was left behind"


async def test_a_fix_that_holds_is_verified(tmp_path: Path) -> None:
    """It passes each time, what passed beside it still does, and what failed beside it is not its fault."""
    async with court(tmp_path) as here:
        verdict = await here.verdict(here.job(app__py=FIXED))

        assert (verdict.outcome, verdict.verification) == ("fixed", "verified")
        assert (verdict.runs, verdict.passed, verdict.failed_before) == (2, 2, True)
        assert verdict.detail == "it is right now"
        assert here.log.count("$ ") == 3


async def test_a_fix_that_passes_sometimes_is_flaky(tmp_path: Path) -> None:
    async with court(tmp_path) as here:
        verdict = await here.verdict(here.job(app__py=FLAKY.replace("TURN", str(here.notes / "turn"))))

        assert (verdict.outcome, verdict.verification) == ("failed", "flaky")
        assert verdict.reason.startswith("passed 1 of 2: it fails: ")
        assert verdict.detail == f"flaky: {verdict.reason}"


async def test_a_fix_that_does_not_hold_is_unverified(tmp_path: Path) -> None:
    async with court(tmp_path) as here:
        verdict = await here.verdict(here.job(app__py=APP.replace("+ 1", "+ 2")))

        assert (verdict.outcome, verdict.verification, verdict.passed) == ("failed", "unverified", 0)
        assert verdict.reason.startswith("it fails: ")


async def test_a_fix_that_breaks_a_sibling_is_unverified(tmp_path: Path) -> None:
    async with court(tmp_path) as here:
        verdict = await here.verdict(here.job(app__py=FIXED.replace("// 2", "// 3")))

        assert (verdict.verification, verdict.reason) == ("unverified", "it breaks test_half")


async def test_a_cheat_is_refused_without_a_run(tmp_path: Path) -> None:
    async with court(tmp_path) as here:
        skipped = TESTS.replace("def test_double", "@pytest.mark.skip\ndef test_double")
        verdict = await here.verdict(here.job(test_app__py=f"import pytest\n{skipped}"))

        assert (verdict.outcome, verdict.verification, verdict.runs) == ("failed", "refused", 0)
        assert verdict.reason.startswith("skip: ")


async def test_a_skip_that_policy_did_not_see_is_no_pass(tmp_path: Path) -> None:
    """Whatever keeps a test from running, its report says that it did not."""
    async with court(tmp_path) as here:
        hidden = APP + "\n\nimport sys\nsys.modules['pytest'].skip('hidden', allow_module_level=True)\n"
        verdict = await here.verdict(here.job(app__py=hidden))

        assert (verdict.verification, verdict.passed) == ("unverified", 0)


async def test_a_program_that_leaves_early_is_no_pass(tmp_path: Path) -> None:
    """Exit code 0 alone proves nothing."""
    async with court(tmp_path) as here:
        verdict = await here.verdict(here.job(app__py=f"import os\nos._exit(0)\n{APP}"))

        reason = "pytest ended with 0 before its session did"
        assert (verdict.verification, verdict.reason) == ("unverified", reason)


async def test_implementation_in_a_test_commit_is_relabelled(tmp_path: Path) -> None:
    """The work may be good, but its kind is what its diff says."""
    async with court(tmp_path) as here:
        job = here.job(subject="[FIX_TEST] Only a test", app__py=FIXED)
        verdict = await here.verdict(job)

        assert (verdict.outcome, verdict.verification) == ("fixed", "verified")
        assert verdict.relabelled == {job.brought.head: "FIX_IMPL"}
        assert f"[FIX_TEST] {job.brought.head[:10]} is FIX_IMPL by what it changes" in verdict.detail


async def test_clean_is_believed_of_a_test_that_passes(tmp_path: Path) -> None:
    """One run of the file serves all its jobs."""
    async with court(tmp_path) as here:
        verdict = await here.verdict(here.job("clean", HALF))

        assert (verdict.outcome, verdict.verification, verdict.failed_before) == ("clean", "verified", False)


async def test_clean_is_not_believed_of_a_test_that_fails(tmp_path: Path) -> None:
    async with court(tmp_path) as here:
        verdict = await here.verdict(here.job("clean", BROKEN))

        assert (verdict.outcome, verdict.verification) == ("failed", "unverified")
        assert verdict.reason.startswith("claims to pass and fails: ")


async def test_what_claims_no_success_is_not_run(tmp_path: Path) -> None:
    """Its outcome stands; what it committed all the same does not count."""
    async with court(tmp_path) as here:
        blocked = await here.verdict(here.job("blocked"))
        working = await here.verdict(here.job("blocked", app__py=FIXED))

        assert (blocked.outcome, blocked.verification) == ("blocked", "not-needed")
        assert (working.outcome, working.verification, working.runs) == ("blocked", "unverified", 0)


async def test_without_runs_claims_are_taken_as_made(tmp_path: Path) -> None:
    async with court(tmp_path) as here:
        verdict = await here.verdict(here.job(app__py=APP), verify_runs=0)

        assert (verdict.outcome, verdict.verification) == ("fixed", "not-needed")
        assert verdict.detail == "it is right now; not verified"


async def test_a_setup_comes_before_the_runs(tmp_path: Path) -> None:
    async with court(tmp_path) as here:
        fixed = here.job(app__py=f"from made import nothing\n\n\n{FIXED}")
        good = await here.verdict(fixed, setup="echo 'nothing = 0' > made.py")
        bad = await here.verdict(fixed, setup="echo no room >&2; exit 3")

        assert good.verification == "verified"
        assert (bad.verification, bad.reason) == ("unverified", "its setup failed: no room")


async def test_no_secret_is_near_a_run(tmp_path: Path) -> None:
    """Neither the daemon's own environment nor the agents' credentials; what is plain in the profile is there."""
    os.environ["DAEMON_SECRET"] = "hunter2"
    try:
        async with court(tmp_path) as here:
            seen = here.notes / "seen.json"
            telling = (
                f"import json, os, pathlib\npathlib.Path({str(seen)!r}).write_text(json.dumps(dict(os.environ)))\n"
            )
            await here.verdict(here.job(app__py=telling + FIXED))

            found = json.loads(seen.read_text())
            assert not {"DAEMON_SECRET", "KEY"} & set(found)
            assert found["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] == "1"
            assert found["HOME"].startswith(str(tmp_path))
    finally:
        del os.environ["DAEMON_SECRET"]


def leaving(stayer: Stayer) -> str:
    """An application that starts a process which leaves its session, and waits until it is there."""
    return (
        "import pathlib, subprocess, time\n"
        f"subprocess.Popen({stayer.argv!r}, start_new_session=True)\n"
        f"while not pathlib.Path({str(stayer.note)!r}).exists():\n    time.sleep(0.02)\n"
    )


async def test_a_run_that_never_ends_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    async with court(tmp_path) as here:
        stayer = Stayer(here.notes)
        job = here.job(app__py=f"{leaving(stayer)}time.sleep(600)\n")
        verdict = await here.verdict(job, test_timeout_seconds=2, verify_runs=1)

        assert (verdict.verification, verdict.reason) == ("unverified", "it does not end in time")
        assert stayer.is_gone


async def test_what_a_good_run_leaves_behind_is_killed(tmp_path: Path) -> None:
    async with court(tmp_path) as here:
        stayer = Stayer(here.notes)
        verdict = await here.verdict(here.job(app__py=leaving(stayer) + FIXED), verify_runs=1)

        assert verdict.verification == "verified"
        assert stayer.is_gone


async def test_a_daemon_that_stops_leaves_neither_process_nor_checkout(tmp_path: Path) -> None:
    async with court(tmp_path) as here:
        stayer = Stayer(here.notes)
        job = here.job(app__py=f"{leaving(stayer)}time.sleep(600)\n")
        verifying = asyncio.create_task(here.verdict(job))
        await until("it runs", lambda: stayer.has_begun)

        verifying.cancel()
        await asyncio.wait([verifying])

        assert stayer.is_gone


async def test_a_test_of_any_name_is_only_a_name(tmp_path: Path) -> None:
    """Nothing in a node id is a command."""
    async with court(tmp_path) as here:
        verdict = await here.verdict(here.job(test=f"{DOUBLE}[$(touch {tmp_path}/owned); `id`]", app__py=FIXED))

        assert verdict.verification == "unverified"
        assert not (tmp_path / "owned").exists()
