"""Runs tests in a clean checkout, just as an agent would run them, and keeps the result of each run.

Theory of operation. A trial has one checkout, prepared once by the profile's `setup`. Each run gets a copy of it
under the same path, because what `setup` installed knows that path; HOME and TMPDIR are new each time, and all of it
is deleted after the run. So no run sees what another left. Places are named like an agent's, and the environment is
an agent's, name by name. Walls show each run its own copy at that path, so several runs can be under way; without
them there is one at a time.
"""

import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from anyio import Lock

from supervisor.adapters.git.checkouts import copy_tree, discard
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.recordings.keeping import keep_those_of
from supervisor.model.batch import Batch
from supervisor.threads import at_length, in_thread
from supervisor.verification.setups.inputs import surroundings
from supervisor.verification.setups.kept import free_site, kept_at, prune
from supervisor.verification.setups.preparation import Preparation
from supervisor.verification.tracing.traced import Trace
from supervisor.verification.trials.asking import (
    GRACE_SECONDS,
    MARKER,
    PROBES,
    SETUP_SECONDS,
    Unready,
    asked_for,
    instrumented,
    laid,
    log_of,
    setup_failed,
)
from supervisor.verification.trials.caches import Caches
from supervisor.verification.trials.likeness import Elsewhere, Places, Spoken, environment_of
from supervisor.verification.trials.preparing import Base
from supervisor.verification.trials.receiving import Receiver
from supervisor.verification.trials.reports import read
from supervisor.verification.trials.running import walls_lack
from supervisor.verification.trials.runs import PLAIN, Instruments, Run, View
from supervisor.verification.trials.staging import Stage, run_in, temporary_folder
from supervisor.verification.trials.straying import stray_import
from supervisor.verification.trials.tidying import head_of, remove_bytecode, stamp_of
from supervisor.verification.trials.viewing import prepared, view_of
from supervisor.verification.walls.sandbox import Sandbox, ended_for, mend, missed
from supervisor.verification.walls.walls import give


@dataclass(slots=True)
class Trial:
    batch: Batch
    folder: Path
    #: what is below `home` exists only while a run is under way
    places: Places
    sandbox: Sandbox
    bare: Path
    #: what is prepared
    prepared_view: View
    #: the stamp of what was prepared, taken then
    stamp: str = ""
    #: how long its setup took; 0: there was none
    setup_seconds: float = 0.0
    runs: list[Run] = field(default_factory=list)
    saved: int = 0
    _lock: Lock = field(default_factory=Lock)

    @property
    def prepared(self) -> Path:
        return self.folder / "prepared"

    async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run:
        profile = self.batch.profile
        command, limit = asked_for(self.batch, nodes, times, instruments)
        receiver = Receiver()
        spoken = Spoken(command, receiver.name)
        async with self.stage(nodes, spoken, instruments) as stage, receiver.listening() as ear:
            began = time.monotonic()
            trace = Trace(stage.checkout, str(stage.folder / PROBES / MARKER)) if instruments.traces else None
            ended = await run_in(stage, ["sh", "-c", command], limit + GRACE_SECONDS, ear, trace=trace)
            seconds = time.monotonic() - began
            report = await in_thread(read, await receiver.heard(), stage.checkout)
            stray = stray_import(report.session, Path(self.batch.repo), stage.checkout) if report.session else ""
            if ended.traced is not None:
                before = self.places.checkout_in(self.prepared)
                ended = replace(ended, traced=await in_thread(ended.traced.beside, before))
            if await in_thread(stamp_of, self.prepared) != self.stamp:
                stray = "it wrote into the place that the checkouts of its runs are copied from"
            recorded = await at_length(self._recorded, nodes, stage.copy) if instruments.shows_the_work else ""
        told = ended_for(ended.met, profile), missed(ended.met), recorded
        run = Run(command, ended, report, nodes, seconds, limit, stage.folder, stray, *told)
        self.runs.append(run)
        return run

    def _recorded(self, nodes: tuple[str, ...], checkout: Path) -> str:
        """Saves them from the checkout, which goes with the run, to a place that no run can prepare. Blocking."""
        folder, before = self.folder / f"recorded-{os.urandom(6).hex()}", self.places.checkout_in(self.prepared)
        return str(folder) if keep_those_of(checkout, nodes, folder, before=before) else ""

    async def run_again(self, node: str, count: int, times: float) -> list[Run]:
        return [await self.run(node, times=times) for _ in range(count)]

    width = 1

    async def run_each(self, nodes: Sequence[str], times: float, instruments: Sequence[Instruments]) -> list[Run]:
        return [await self.run(*nodes, times=times, instruments=each) for each in instruments]

    @asynccontextmanager
    async def stage(
        self, nodes: tuple[str, ...] = (), spoken: Spoken | None = None, instruments: Instruments = PLAIN
    ) -> AsyncIterator[Stage]:
        """A fresh copy of what was prepared, which the run sees under the same path each time."""
        async with self._turn(), temporary_folder(self.folder) as (temporary, standing):
            places, folder = replace(self.places, temporary=temporary), self.folder / os.urandom(6).hex()
            home = self.folder / f"copy-{folder.name}" if self.sandbox.is_on else places.home
            copy = places.checkout_in(home)
            try:
                await in_thread(folder.mkdir)
                await copy_tree(self.prepared, home)
                env = environment_of(self.batch, places, nodes, spoken or Spoken())
                if not instruments.are_none:
                    env = instrumented(env, folder, instruments)
                    await in_thread(instruments.write, folder / PROBES)
                if instruments.lays:
                    await in_thread(instruments.lay, copy, folder / PROBES)
                    await self.give(home)
                fresh = (folder, temporary)
                moved: tuple[tuple[Path, Path], ...] = ((home, places.home),)
                build = partial(self.sandbox.walls, standing, fresh, fresh, copy)
                # What a setup has installed knows its own path.
                seen = Elsewhere.of(self.batch) if instruments.is_elsewhere and self.sandbox.is_on else None
                if seen is not None:
                    theirs = folder / "home"
                    await in_thread(theirs.mkdir)
                    moved = (*moved, (theirs, seen.home), (copy, seen.checkout))
                    env = seen.environment(env)
                walls = await in_thread(build, moved=moved)
                yield Stage(places.checkout if seen is None else seen.checkout, copy, env, folder, walls)
            finally:
                await discard(home)

    def _turn(self) -> AbstractAsyncContextManager[object]:
        return nullcontext() if self.sandbox.is_on else self._lock

    async def set_up(self) -> None:
        """Runs once, before all runs: each of them finds what it leaves in the checkout and in HOME."""
        profile, home, checkout = self.batch.profile, self.places.home, self.places.checkout
        async with temporary_folder(self.folder) as (temporary, standing):
            env = environment_of(self.batch, replace(self.places, temporary=temporary), (), Spoken())
            walls = partial(self.sandbox.walls, standing, (home, temporary), (temporary,), checkout, is_setup=True)
            stage = Stage(checkout, checkout, env, self.folder, await in_thread(walls))
            done = await run_in(stage, ["sh", "-c", profile.setup], SETUP_SECONDS)
        if done.code != 0:
            raise Unready(setup_failed(profile, done))

    @property
    def can_lay(self) -> bool:
        """What a setup has made may depend on any file, unless it is known on which."""
        return not self.batch.profile.setup or not self.setup_seconds

    async def view(self, sha: str) -> View:
        checkout = self.places.checkout_in(self.prepared)
        return await in_thread(view_of, self.batch, self.bare, self.prepared_view, sha, checkout)

    async def head_of(self, path: str) -> bytes:
        return await in_thread(head_of, self.places.checkout_in(self.prepared) / path)

    async def give(self, place: Path) -> None:
        """Makes the user inside the walls the owner of a place."""
        if self.sandbox.is_on and await in_thread(place.is_dir):
            await in_thread(give, place)

    @property
    def log(self) -> str:
        return log_of(self.runs, self.note)

    @property
    def note(self) -> str:
        return self.sandbox.note


class Trials:
    """`<state_dir>/hosts` has one folder for each trial under way."""

    def __init__(self, store: GitStore, state_dir: Path) -> None:
        self._store, self._state_dir = store, state_dir.absolute()
        self._folder = self._state_dir / "hosts"
        self._caches = Caches(state_dir.absolute() / "caches")

    async def forget(self) -> None:
        """Deletes what the last daemon had under way."""
        await at_length(_forget, self._folder)

    @asynccontextmanager
    async def trial(
        self, batch: Batch, sha: str, name: str, *, replaced: Mapping[str, bytes | None] | None = None
    ) -> AsyncIterator[Trial]:
        """`replaced`: paths with the content that replaces the commit's; None: no file. Raises Unready, GitFailed."""
        bare = self._store.bare(Path(batch.repo))
        sandbox = await self._sandbox(batch, bare)
        alike = await in_thread(surroundings, batch) if sandbox.is_on else ""
        site = free_site(self._state_dir, alike)
        folder = self._folder / site.folder
        try:
            before = await in_thread(prepared, bare, sha)
            trial = Trial(batch, folder, Places.at(folder, site), sandbox, bare, before)
            base = await in_thread(Base, bare, batch.base, sha)
            await self._store.checkout(Path(batch.repo), sha, trial.places.checkout)
            await in_thread(_furnish, trial, base, replaced or {})
            await trial.give(trial.places.home)
            if batch.profile.setup:
                kept = kept_at(self._state_dir, alike, site)
                await self._set_up(trial, kept, sha, is_base=sha == batch.base and not replaced)
            await in_thread(remove_bytecode, trial.places.checkout, await in_thread(base.bytecode))
            await in_thread(trial.places.home.rename, trial.prepared)
            trial.stamp = await in_thread(stamp_of, trial.prepared)
            yield trial
        finally:
            await discard(folder)

    def pool_of(self, batch: Batch) -> str:
        return ""

    async def _sandbox(self, batch: Batch, bare: Path) -> Sandbox:
        wanted = batch.profile.sandbox
        lacks = await walls_lack() if wanted != "off" else ""
        if lacks and wanted == "require":
            raise Unready(f"walls can't be built on this machine ({lacks}): {mend(lacks)}")
        return Sandbox(batch, self._state_dir, bare / "objects", lacks)

    async def _set_up(self, trial: Trial, kept: Path | None, commit: str, *, is_base: bool) -> None:
        home, inputs = trial.places.home, trial.batch.profile.setup_inputs
        prepared = None if kept is None else Preparation(kept, home, trial.places.checkout, commit, inputs)
        if prepared is not None and await prepared.is_laid():
            return

        async def set_up() -> None:
            await self._caches.give(trial.batch, home)
            await trial.give(home / ".cache")
            began = time.monotonic()
            await trial.set_up()
            trial.setup_seconds = time.monotonic() - began
            if is_base:
                await self._caches.keep(trial.batch, home)
            await self._caches.clear(home)

        if prepared is None or not is_base:
            await set_up()
        else:
            await prepared.run(set_up)
            await in_thread(prune, self._state_dir)


def _furnish(trial: Trial, base: Base, replaced: Mapping[str, bytes | None]) -> None:
    checkout = trial.places.checkout
    trial.places.furnish()
    remove_bytecode(checkout, base.bytecode())
    root = checkout.resolve()
    for path, content in laid(trial.batch.profile, base, replaced).items():
        place = checkout / path
        if not place.parent.resolve().is_relative_to(root):
            raise Unready(f"{path} leads out of the checkout")
        place.unlink(missing_ok=True)
        if content is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def _forget(folder: Path) -> None:
    for link in folder.glob("*/temporary-*"):
        made = Path(tempfile.gettempdir()) / link.name.removeprefix("temporary-")
        if link.is_symlink() and link.readlink() == made:
            shutil.rmtree(made, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
