"""A clean checkout in which tests are run, just as an agent would run them, and what came of each run.

Theory of operation. A trial has one checkout, made ready once by the profile's `setup`. For each run a copy of it
stands in its place, under the same path, because what `setup` has installed knows that path; HOME and TMPDIR are new
each time, and after the run all of it is gone. So no run sees what another has left. The places have names as
those of agents have, and the environment is an agent's, name by name.
"""

import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from anyio import Lock

from supervisor.adapters.git.checkouts import copy_tree, discard
from supervisor.adapters.git.store import GitStore
from supervisor.launch.contract import run_command
from supervisor.model.batch import Batch
from supervisor.publication.rules.outcome import clean
from supervisor.threads import at_length, in_thread
from supervisor.verification.rules.places import Allowed
from supervisor.verification.trials.caches import Caches
from supervisor.verification.trials.likeness import Places, Spoken, environment_of
from supervisor.verification.trials.preparing import Base, remove_bytecode, stamp_of
from supervisor.verification.trials.receiving import Receiver
from supervisor.verification.trials.reports import read
from supervisor.verification.trials.running import run
from supervisor.verification.trials.runs import PLAIN, Instruments, Run
from supervisor.verification.trials.straying import stray_import

SETUP_SECONDS = 900.0
#: after this much more than its own limit, a run is killed from outside
GRACE_SECONDS = 10.0
EVIDENCE = "SUPERVISOR_EVIDENCE"


@dataclass(frozen=True, slots=True)
class Stage:
    """The place of one run."""

    checkout: Path
    env: Mapping[str, str]
    #: stays until the trial ends
    folder: Path


class Place(Protocol):
    """Where the tests of one claim run: a trial, or a claim's share of one."""

    #: this claim's runs
    runs: list[Run]

    @property
    def folder(self) -> Path: ...

    @property
    def places(self) -> Places: ...

    @property
    def prepared(self) -> Path: ...

    @property
    def log(self) -> str: ...

    async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run: ...


@dataclass(slots=True)
class Trial:
    batch: Batch
    folder: Path
    #: what is below `home` is there only while a run is under way
    places: Places
    #: what was prepared, as it was then
    stamp: str = ""
    runs: list[Run] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    @property
    def prepared(self) -> Path:
        return self.folder / "prepared"

    async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run:
        """The command that agents are given, within `times` the time of one test. Of a file that is nobody's job all
        tests are run, also those that were not asked for at submit."""
        profile = self.batch.profile
        limit = profile.test_timeout_seconds * times
        whole = all("::" not in node and node not in self.batch.tests for node in nodes)
        command = run_command(replace(profile, test_timeout_seconds=limit), *nodes, whole=whole)
        receiver = Receiver()
        spoken = Spoken(command, receiver.name)
        async with self.stage(nodes, spoken, instruments) as stage, receiver.listening():
            began = time.monotonic()
            argv = ["sh", "-c", command]
            ended = await run(argv, cwd=stage.checkout, env=stage.env, timeout=limit + GRACE_SECONDS)
            seconds = time.monotonic() - began
            report = await in_thread(read, await receiver.heard(), stage.checkout)
            stray = stray_import(report.session, Path(self.batch.repo), stage.checkout) if report.session else ""
            if await in_thread(stamp_of, self.prepared) != self.stamp:
                stray = "it wrote into the place that the checkouts of its runs are copied from"
        self.runs.append(Run(command, ended, report, nodes, seconds, limit, stage.folder, stray))
        return self.runs[-1]

    @asynccontextmanager
    async def stage(
        self, nodes: tuple[str, ...] = (), spoken: Spoken | None = None, instruments: Instruments = PLAIN
    ) -> AsyncIterator[Stage]:
        """A fresh copy of what was prepared, in its place, one at a time."""
        async with self._lock, _temporary(self.folder) as temporary:
            places, folder = replace(self.places, temporary=temporary), self.folder / os.urandom(6).hex()
            try:
                await in_thread(folder.mkdir)
                await copy_tree(self.prepared, places.home)
                env = environment_of(self.batch, places, nodes, spoken or Spoken())
                if not instruments.are_none:
                    env = await in_thread(_instrumented, env, folder, instruments)
                if instruments.before is not None:
                    await in_thread(instruments.before, places.checkout)
                yield Stage(places.checkout, env, folder)
            finally:
                await discard(places.home)

    async def set_up(self) -> None:
        """Once, before all runs: what it leaves, in the checkout and at home, each of them finds."""
        setup = self.batch.profile.setup
        async with _temporary(self.folder) as temporary:
            env = environment_of(self.batch, replace(self.places, temporary=temporary), (), Spoken())
            done = await run(["sh", "-c", setup], cwd=self.places.checkout, env=env, timeout=SETUP_SECONDS)
        if done.code != 0:
            last = " ".join(clean(done.tail).strip().splitlines()[-1:])[:200]
            raise Unready(f"its setup failed: {last or f'exit code {done.code}'}")

    @property
    def log(self) -> str:
        return "\n".join(f"$ {run.command}\n{clean(run.ended.tail)}\n[{run.ended.code}]\n" for run in self.runs)


class Unready(Exception):
    """The setup of a checkout has failed."""


class Trials:
    """`<state_dir>/hosts` has one folder for each trial under way."""

    def __init__(self, store: GitStore, state_dir: Path) -> None:
        self._store, self._folder = store, state_dir.absolute() / "hosts"
        self._caches = Caches(state_dir.absolute() / "caches")

    async def forget(self) -> None:
        """Whatever the last daemon had under way."""
        await at_length(_forget, self._folder)

    @asynccontextmanager
    async def trial(
        self, batch: Batch, sha: str, name: str, *, replaced: Mapping[str, bytes | None] | None = None
    ) -> AsyncIterator[Trial]:
        """`replaced`: paths whose content is another one than in the commit, or None. Raises Unready, GitFailed."""
        folder = self._folder / os.urandom(6).hex()
        trial = Trial(batch, folder, Places.below(folder))
        try:
            bare = self._store.bare(Path(batch.repo))
            base = await in_thread(Base, bare, batch.base, sha)
            await self._store.checkout(Path(batch.repo), sha, trial.places.checkout)
            await in_thread(_furnish, trial, base, replaced or {})
            if batch.profile.setup:
                await self._set_up(trial, is_base=sha == batch.base and not replaced)
            await in_thread(remove_bytecode, trial.places.checkout, base)
            await in_thread(trial.places.home.rename, trial.prepared)
            trial.stamp = await in_thread(stamp_of, trial.prepared)
            yield trial
        finally:
            await discard(folder)

    async def _set_up(self, trial: Trial, *, is_base: bool) -> None:
        home = trial.places.home
        await self._caches.give(trial.batch, home)
        await trial.set_up()
        if is_base:
            await self._caches.keep(trial.batch, home)
        await self._caches.clear(home)


@asynccontextmanager
async def _temporary(folder: Path) -> AsyncIterator[Path]:
    """A short path, because what is made in it may be a socket, whose path has little room."""
    made = Path(tempfile.gettempdir()) / os.urandom(5).hex()
    link = folder / f"temporary-{made.name}"  # what a daemon that is killed leaves is found by this
    link.symlink_to(made)
    made.mkdir(mode=0o700)
    try:
        yield made
    finally:
        await discard(made)
        link.unlink(missing_ok=True)


def _furnish(trial: Trial, base: Base, replaced: Mapping[str, bytes | None]) -> None:
    profile, checkout = trial.batch.profile, trial.places.checkout
    trial.places.furnish()
    if front := base.fronts([".", *profile.python_path] if "-m" in profile.pytest else profile.python_path):
        raise Unready(f"{front} would be imported in place of a module that pytest itself needs")
    remove_bytecode(checkout, base)
    root = checkout.resolve()
    for path, content in {**base.settings(Allowed(profile.allow_paths, profile.deny_paths)), **replaced}.items():
        place = checkout / path
        if not place.parent.resolve().is_relative_to(root):
            raise Unready(f"{path} leads out of the checkout")
        place.unlink(missing_ok=True)
        if content is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def _instrumented(env: Mapping[str, str], folder: Path, instruments: Instruments) -> dict[str, str]:
    plugins = folder / "plugins"
    plugins.mkdir()
    for name, source in instruments.plugins.items():
        (plugins / f"{name}.py").write_text(source)
    more = dict(env)
    more["PYTHONPATH"] = os.pathsep.join(filter(None, [str(plugins), env.get("PYTHONPATH")]))
    more["PYTEST_PLUGINS"] = ",".join(filter(None, [env.get("PYTEST_PLUGINS"), *instruments.plugins]))
    return {**more, EVIDENCE: str(folder), **instruments.env}


def _forget(folder: Path) -> None:
    for link in folder.glob("*/temporary-*"):
        made = Path(tempfile.gettempdir()) / link.name.removeprefix("temporary-")
        if link.is_symlink() and link.readlink() == made:
            shutil.rmtree(made, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
