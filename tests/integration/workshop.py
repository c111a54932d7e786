"""A batch whose jobs are done, on real git: what each agent committed, said and had verified is told by the test."""

import json
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.integration.integrator import BranchIntegrator
from supervisor.model.attempt import AttemptKey, ref_of
from supervisor.model.batch import Batch, Integrations, Origin
from supervisor.model.job import INTEGRATOR, Brought, Job, JobState
from supervisor.model.ledger import Fate
from supervisor.model.outcome import Outcome
from supervisor.model.profile import Profile
from supervisor.model.verdict import Verdict
from supervisor.ports import Integration, Judgement
from supervisor.verification.trials.trial import Trial, Trials
from tests.agent_clone import commit, git

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
APP = "def double(x):\n    return x\n\n\ndef half(x):\n    return x\n\n\nPOLITE = False\n"
TESTS = {
    "double": "from app import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
    "half": "from app import half\n\n\ndef test_half():\n    assert half(2) == 1\n",
    "sane": "from app import POLITE, double\n\n\ndef test_sane():\n    assert not (POLITE and double(2) == 4)\n",
}
DOUBLE, HALF, SANE = (f"test_{name}.py::test_{name}" for name in TESTS)
DOUBLED = APP.replace("def double(x):\n    return x\n", "def double(x):\n    return 2 * x\n")
HALVED = APP.replace("def half(x):\n    return x\n", "def half(x):\n    return x // 2\n")
#: collides with HALVED
QUARTERED = APP.replace("def half(x):\n    return x\n", "def half(x):\n    return x // 4\n")
#: breaks SANE together with DOUBLED
POLITE = APP.replace("POLITE = False", "POLITE = True")


class NotedTrials(Trials):
    def __init__(self, store: GitStore, state_dir: Path) -> None:
        super().__init__(store, state_dir)
        #: on which something was run
        self.commits: list[str] = []

    @asynccontextmanager
    async def trial(
        self, batch: Batch, sha: str, name: str, *, replaced: Mapping[str, bytes | None] | None = None
    ) -> AsyncIterator[Trial]:
        self.commits.append(sha)
        async with super().trial(batch, sha, name, replaced=replaced) as trial:
            yield trial


@dataclass
class Workshop:
    folder: Path
    #: of the base, beside those above
    files: dict[str, str] = field(default_factory=dict)
    profile: Profile = field(
        default_factory=lambda: Profile(pytest=PYTEST, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, integrator=False)
    )
    jobs: list[Job] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.repo = self.folder / "repo"
        self.repo.mkdir(parents=True)
        git(self.repo, "init", "-q", "-b", "main")
        tests = {f"test_{name}__py": text for name, text in TESTS.items()}
        self.base = commit(self.repo, "base", app__py=APP, **tests, **self.files)
        self.layout = Layout(self.folder / "state")
        self.store = GitStore(self.layout.state_dir)
        self.trials = NotedTrials(self.store, self.layout.state_dir)
        self.integrator = BranchIntegrator(self.store, self.layout, self.trials)
        self._integrators: Job | None = None

    async def opened(self) -> "Workshop":
        await self.store.snapshot(self.repo, self.base, "b")
        return self

    @property
    def bare(self) -> Path:
        return self.store.bare(self.repo)

    @property
    def batch(self) -> Batch:
        tests = tuple(job.test for job in self.jobs)
        batch = Batch(
            "b",
            1,
            str(self.repo),
            self.base,
            tests,
            self.profile,
            0.0,
            Origin(branch="main"),
            integrations=Integrations(1),
        )
        for job in self.jobs:
            batch = batch.with_job(job)
        return replace(batch, integrator=self._integrators)

    # --- what agents did

    def job(
        self, test: str, *commits: tuple[str, dict[str, str]], said: dict[str, Any] | None = None, **known: Any
    ) -> int:
        """A job whose agent made these commits (subject, files), published, and was verified."""
        number = len(self.jobs) + 1
        head = self._published(AttemptKey("b", number, 1), self.repo, self.base, commits, said or {})
        job = Job(
            number,
            test,
            state=JobState.DONE,
            attempts=1,
            outcome=Outcome.FIXED,
            brought=Brought("fixed", head, len(commits)),
            verdict=Verdict("fixed", "", "verified", runs=2, passed=2, failed_before=True),
        )
        self.jobs.append(_known(job, known))
        return number

    def idle(self, test: str, **known: Any) -> int:
        """A job that brought no commit."""
        job = Job(len(self.jobs) + 1, test, state=JobState.DONE, attempts=1, outcome=Outcome.CLEAN)
        job = replace(job, brought=Brought("clean"), verdict=Verdict("clean", "", "verified"))
        self.jobs.append(_known(job, known))
        return job.number

    def integrated_by(self, *commits: tuple[str, dict[str, str]], onto: str = "", **said: Any) -> None:
        """The integrator's agent made these on top of the machine's branch, or elsewhere, and published."""
        source = self.layout.integration("b", 1) / "source"
        head = self._published(AttemptKey("b", INTEGRATOR, 1), source, onto or "HEAD", commits, said)
        self.judged_as(claim="clean", outcome=Outcome.CLEAN, head=head)

    def integrated_freely(self, act: Callable[[Path], dict[str, Any] | None]) -> None:
        """The integrator's agent does whatever it wants in its clone, and says what is returned."""
        source, clone = self.layout.integration("b", 1) / "source", self.folder / "clones" / "free"
        shutil.rmtree(clone, ignore_errors=True)
        git(source, "worktree", "prune")
        git(source, "worktree", "add", "-q", "--detach", str(clone), "HEAD")
        said = act(clone) or {}
        self.integrated_by(onto=git(clone, "rev-parse", "HEAD"), **said)

    def judged_as(self, **known: Any) -> None:
        self._integrators = _known(Job(INTEGRATOR, "", state=JobState.DONE, attempts=1), known)

    def _published(
        self,
        key: AttemptKey,
        start: Path,
        sha: str,
        commits: tuple[tuple[str, dict[str, str]], ...],
        said: dict[str, Any],
    ) -> str:
        clone = self.folder / "clones" / f"{key.job}"
        shutil.rmtree(clone, ignore_errors=True)
        git(start, "worktree", "prune")
        git(start, "worktree", "add", "-q", "--detach", str(clone), sha)
        head = git(clone, "rev-parse", "HEAD")
        for message, files in commits:
            body = "" if key.job == INTEGRATOR else f"\n\nby {key.job}"  # no two commits are the same
            head = commit(clone, message + body, **files)
        git(self.bare, "fetch", "-q", str(start), f"+{head}:{ref_of(key)}")
        git(start, "worktree", "remove", "--force", str(clone))
        kinds = {message[1:].partition("]")[0] for message, _ in commits}
        changes = {kind: {"status": "SUCCEEDED", "summary_markdown": f"{kind} by {key.job}"} for kind in kinds}
        folder = self.layout.attempt(key) / "published"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "outcome.json").write_text(
            json.dumps({"schema_version": 1, "changes": changes, "errored": False, **said})
        )
        return head

    # --- what is asked, and what came of it

    async def integrate(self) -> Integration:
        done = await self.integrator.integrate(self.batch, 1)
        assert isinstance(done, Integration), done
        return done

    async def asked(self) -> dict[str, Any]:
        """What the integrator's agent is asked."""
        wanted = await self.integrator.integrate(self.batch, 1)
        assert isinstance(wanted, Judgement), wanted
        found: dict[str, Any] = json.loads((self.layout.integration("b", 1) / "integration.json").read_text())
        return found | {"why": wanted.why}

    def subjects(self, head: str) -> list[str]:
        return git(self.bare, "log", "--reverse", "--format=%s", f"{self.base}..{head}").splitlines()

    def file(self, head: str, path: str) -> str:
        return git(self.bare, "show", f"{head}:{path}")


def fates(done: Integration) -> dict[int, Fate]:
    return {number: row.fate for number, row in sorted(done.ledger.items())}


def trailers(job: int, change: str) -> str:
    return f"\n\nSupervisor-Job: b.{job}\nSupervisor-Change: {change}"


_SAID = frozenset(("verification", "reason", "runs", "passed", "failed_before", "relabelled", "doubts", "evidence"))


def _known(job: Job, known: Mapping[str, Any]) -> Job:
    """The job with other values; those of its verdict, or of what was brought home, go there."""
    said = {name: value for name, value in known.items() if name in _SAID}
    brought = {name: value for name, value in known.items() if name in ("claim", "head", "commits")}
    own = {name: value for name, value in known.items() if name not in said | brought}
    return replace(job, verdict=replace(job.verdict, **said), brought=replace(job.brought, **brought), **own)
