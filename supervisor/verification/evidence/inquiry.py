"""A claim under inquiry, and the experiments on it: runs of its test under changed conditions.

All experiments happen in the claim's one trial, each in a fresh copy of its checkout, with some files as they were at
the base, or with faults. They share an allowance of time; what must be known is asked even when it is spent.

A run that was cut short, by the clock or by a machine short of resources, is an answer only if a control run without
the change is not. Otherwise the question is `Unanswered`, which is a doubt.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from supervisor.model.batch import Batch
from supervisor.model.evidence import Necessity, Reach, Strength
from supervisor.model.job import Job
from supervisor.model.node import file_of
from supervisor.threads import in_thread
from supervisor.verification.evidence.contents import contents
from supervisor.verification.evidence.laying import Contents
from supervisor.verification.evidence.lies import Telling
from supervisor.verification.evidence.probes import source
from supervisor.verification.evidence.seen import Seen, read_seen
from supervisor.verification.evidence.switching import NAMING
from supervisor.verification.rules.places import is_test_path, kind_of
from supervisor.verification.trials.asking import Place
from supervisor.verification.trials.likeness import own_names
from supervisor.verification.trials.runs import Instruments, Run

#: the least allowance of a claim, however fast its test is
LEAST_SECONDS = 10.0
#: an experiment may take so many times as long as the test, plus so many seconds
SLOWER, AND_SECONDS = 5.0, 10.0

type Probe = Literal["reach", "hide", "hide but the name"]
_NO_TESTS = "TESTS: frozenset[str] = frozenset("


def reaching() -> dict[str, str]:
    """Plugins that note what a run reaches."""
    names = {
        "_asking_probe": "asking",
        "_conduct_probe": "conduct",
        "_reaching_probe": "reaching",
        "_programs_probe": "programs",
        "_writing_probe": "writing",
        "sitecustomize": "starting",
    }
    return {module: source(probe) for module, probe in names.items()}


def telling() -> dict[str, str]:
    """The same, and one that tells the tests of a run apart."""
    return {**reaching(), "_telling_probe": source("telling")}


def naming() -> dict[str, str]:
    """A plugin that names the test that runs to the programs that it starts."""
    return {NAMING: source("naming")}


def is_watched(plugins: Mapping[str, str]) -> bool:
    return "_reaching_probe" in plugins


def times_for(batch: Batch, seconds: float) -> float:
    """The time limit of a run that should take so many seconds, as a multiple of a test's time limit."""
    return (SLOWER * seconds + AND_SECONDS) / batch.profile.test_timeout_seconds


class Unanswered(Exception):
    """An experiment is inconclusive, for this reason."""


class Change(NamedTuple):
    """What an experiment changes."""

    contents: Contents
    liar: Telling | None = None
    #: it is tried where a run can't be told from a plain one
    is_plain: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """The result of one question."""

    evidence: Reach | Strength | Necessity | None = None
    doubts: tuple[str, ...] = ()
    #: why the claim can't be true; it begins with the name of the question
    refusal: str = ""
    #: which doubts of policy it settles: the name of the question, or the files that they are about
    settles: tuple[str, ...] = ()


@dataclass(slots=True)
class Inquiry:
    batch: Batch
    job: Job
    trial: Place
    #: plain runs of its test, all of them green
    runs: list[Run]
    #: its file at the base, and now
    file_before: Run | None
    file_after: Run | None
    #: the changed files, as they were at the base
    base: Contents
    #: all files of the commit
    files: frozenset[str]
    bare: Path
    #: whether other claims' experiments may be in the checkouts of its own
    is_shared: bool = False
    #: the questions that can settle doubts of policy
    doubted: frozenset[str] = frozenset()
    spent: float = 0.0
    #: what the test used, before the work and with it; None: it could not be watched
    before: Seen | None = None
    after: Seen | None = None
    #: whether it fails when nothing but notes are taken
    fails_watched: bool = False
    #: as `after`, including files of the tests
    noted: Seen | None = None
    #: the old test on the new implementation
    old: Run | None = None
    #: the new test on the old implementation
    undone: Run | None = None

    @property
    def fails_without(self) -> bool | None:
        """Whether the test fails without the work, or without a part of it; None: it was not tried."""
        tried = [run for run in (self.undone, self.old) if run is not None]
        return any(not run.passed for run in tried) if tried else None

    # --- what changed

    @property
    def test(self) -> str:
        return self.job.test

    @property
    def file(self) -> str:
        return file_of(self.test)

    def is_test(self, path: str) -> bool:
        return is_test_path(path, self.test)

    @property
    def tests(self) -> list[str]:
        """Changed files that belong to the tests."""
        return [path for path in self.base if self.is_test(path)]

    @property
    def implementation(self) -> list[str]:
        """Changed files that are neither tests nor documentation."""
        return [path for path in self.base if kind_of("", (path,), self.test) == "FIX_IMPL"]

    def as_before(self, *paths: str) -> Contents:
        return {path: self.base[path] for path in paths}

    async def now(self, *paths: str) -> Contents:
        return await in_thread(contents, self.bare, self.job.brought.head, paths)

    def used(self, seen: Seen) -> Seen:
        """What was used of the repository, without its tests."""
        return seen.only(frozenset(path for path in self.files | self.base.keys() if not self.is_test(path)))

    # --- time

    @property
    def seconds(self) -> float:
        """The time that the test takes."""
        return max(run.seconds for run in self.runs)

    @property
    def allowance(self) -> float:
        factor = self.batch.profile.evidence_factor
        return max(LEAST_SECONDS, factor * sum(run.seconds for run in self.runs))

    @property
    def is_spent(self) -> bool:
        return self.spent >= self.allowance

    @property
    def affords(self) -> int:
        """How many more runs of its test should fit into the allowance."""
        return math.ceil((self.allowance - self.spent) / max(self.seconds, 0.001))

    # --- experiments

    async def experiment(self, changed: Contents | None = None, *probes: Probe, nodes: tuple[str, ...] = ()) -> Run:
        """One run, with these files in place of the work's. Raises Unanswered."""
        hides = any(each != "reach" for each in probes)
        [run] = await self._tried(
            [Instruments(plugins=self._plugins(probes), files=changed or {}, is_elsewhere=hides)], nodes
        )
        return run

    async def experiments(
        self, changes: Sequence[Change], nodes: tuple[str, ...] = (), *, is_alone: bool = False
    ) -> list[Run]:
        """One run for each: with these files in place of the work's, and with this liar. Raises Unanswered."""
        faulty = partial(Instruments, is_faulty=True, is_alone=is_alone)
        return await self._tried(
            [faulty(files=each.contents, liar=each.liar, is_plain=each.is_plain) for each in changes], nodes
        )

    async def _tried(self, instruments: Sequence[Instruments], nodes: tuple[str, ...]) -> list[Run]:
        usual = self.file_after.seconds if nodes and self.file_after is not None else self.seconds
        most = max(self.batch.cases_of(self.job.number), len(nodes))
        times = min(most, times_for(self.batch, usual))

        async def each_once(instruments: Sequence[Instruments]) -> list[Run]:
            runs = await self.trial.run_each(nodes or (self.test,), times, instruments)
            self.spent += sum(run.seconds for run in runs)
            return runs

        runs = await each_once(instruments)
        for number, each in enumerate(instruments):
            if runs[number].cut_short and not (runs[number].is_late and each.changes_files):
                [runs[number]] = await each_once([each])
            if runs[number].cut_short and each.changes_files and not runs[number].is_controlled:
                [control] = await each_once([replace(each, files={}, liar=None)])
                if control.cut_short:
                    raise Unanswered(f"{control.cut_short}, with the work as it is, too")
        return runs

    async def seen(self, run: Run) -> Seen:
        return self.used(await self.noted_of(run))

    async def noted_of(self, run: Run) -> Seen:
        return await in_thread(read_seen, run.folder / "plugins")

    def _plugins(self, probes: tuple[Probe, ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        if "reach" in probes:
            found |= reaching()
            found["_conduct_probe"] = found["_conduct_probe"].replace(_NO_TESTS, _NO_TESTS + self._own_tests)
        if hiding := [each for each in probes if each != "reach"]:
            found["_hiding_probe"] = (
                source("hiding")
                .replace(_NO_TESTS, _NO_TESTS + self._own_tests)
                .replace("OURS: frozenset[str] = frozenset()", f"OURS = frozenset({sorted(own_names(self.batch))!r})")
                .replace("RENAMES = True", f"RENAMES = {hiding == ['hide']}")
            )
        if hiding and "reach" in probes:
            found["_replaying_probe"] = source("replaying")
        return found

    @property
    def _own_tests(self) -> str:
        """All test modules of the commit."""
        return repr(sorted(path for path in self.files if path.endswith(".py") and self.is_test(path)))
