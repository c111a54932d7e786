"""A clean checkout in which a test is run, just as an agent would run it, and what came of each run."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from supervisor.adapters.archive_outcome import clean
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.judging.reports import Results, read_report
from supervisor.adapters.judging.running import Ended, environment, run
from supervisor.adapters.orders import CREDENTIAL, run_command
from supervisor.model.batch import Batch

SETUP_SECONDS = 900.0
#: after this much more than its own limit, a run is killed from outside
GRACE_SECONDS = 10.0
#: how `timeout` says that it ended a program
_TIMED_OUT = (124, 137)


@dataclass(frozen=True, slots=True)
class Run:
    command: str
    ended: Ended
    results: Results | None

    @property
    def passed(self) -> bool:
        """Green, by its report as well: a program that leaves early has not passed, nor a test that was skipped."""
        found = set((self.results or {}).values())
        return self.ended.code == 0 and "passed" in found and "failed" not in found

    @property
    def why_not(self) -> str:
        if self.ended.code is None or self.ended.code in _TIMED_OUT:
            return "it does not end in time"
        if self.results is None:
            return f"pytest ended with {self.ended.code} and no report"
        if self.ended.code == 0:
            return "it was skipped" if self.results else "no test was run"
        lines = [line for line in clean(self.ended.tail).splitlines() if line.strip(" =")]
        return f"it fails: {' '.join(lines[-1:])[:200].strip(' =') or f'exit code {self.ended.code}'}"


@dataclass(slots=True)
class Trial:
    checkout: Path
    env: Mapping[str, str]
    batch: Batch
    runs: list[Run] = field(default_factory=list)

    async def run(self, *nodes: str, times: int = 1) -> Run:
        """The command that agents are given, within `times` the time of one test."""
        profile = self.batch.profile
        limit = profile.test_timeout_seconds * times
        report = self.checkout.with_name(f"report-{len(self.runs)}.xml")
        command = run_command(replace(profile, test_timeout_seconds=limit), *nodes)
        argv = [*shlex.split(command), f"--junit-xml={report}"]
        ended = await run(argv, cwd=self.checkout, env=self.env, timeout=limit + GRACE_SECONDS)
        self.runs.append(Run(command, ended, await asyncio.to_thread(read_report, report)))
        return self.runs[-1]

    @property
    def log(self) -> str:
        return "\n".join(f"$ {run.command}\n{clean(run.ended.tail)}\n[{run.ended.code}]\n" for run in self.runs)


class Unready(Exception):
    """The setup of a checkout has failed."""


class Trials:
    """`<state_dir>/verify/trials` has one folder for each trial under way; `home` is the HOME of all of them."""

    def __init__(self, store: GitStore, state_dir: Path) -> None:
        self._store, self._folder = store, state_dir / "verify"

    async def forget(self) -> None:
        """Whatever the last daemon had under way."""
        await self._store.discard(self._folder / "trials")

    @asynccontextmanager
    async def trial(self, batch: Batch, sha: str, name: str) -> AsyncIterator[Trial]:
        """Raises Unready, GitFailed."""
        folder = self._folder / "trials" / name
        home, temporary = self._folder / "home", folder / "tmp"
        await self._store.discard(folder)
        try:
            for each in (home, temporary):
                await asyncio.to_thread(each.mkdir, parents=True, exist_ok=True)
            env = environment(home, temporary, _plain(batch.profile.env))
            trial = Trial(await self._store.checkout(Path(batch.repo), sha, folder / "checkout"), env, batch)
            await self._set_up(trial)
            yield trial
        finally:
            await self._store.discard(folder)

    async def _set_up(self, trial: Trial) -> None:
        if not (setup := trial.batch.profile.setup):
            return
        done = await run(["sh", "-c", setup], cwd=trial.checkout, env=trial.env, timeout=SETUP_SECONDS)
        if done.code != 0:
            last = " ".join(clean(done.tail).strip().splitlines()[-1:])[:200]
            raise Unready(f"its setup failed: {last or f'exit code {done.code}'}")


def _plain(env: Mapping[str, str]) -> dict[str, str]:
    """Secrets are for agents: no test is verified with one."""
    return {name: value for name, value in env.items() if not value.startswith(CREDENTIAL)}
