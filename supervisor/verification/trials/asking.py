"""What local and remote trials share: their interface, command, environment, log, and files beside the commit."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from supervisor.launch.contract import run_command
from supervisor.model.batch import Batch
from supervisor.model.profile import Profile
from supervisor.publication.rules.outcome import clean
from supervisor.verification.rules.places import Allowed
from supervisor.verification.trials.preparing import Base
from supervisor.verification.trials.running import Ended
from supervisor.verification.trials.runs import PLAIN, Instruments, Run, View
from supervisor.verification.walls.sandbox import ended_for, missed

SETUP_SECONDS = 900.0
#: a run is killed from outside this long after its own limit
GRACE_SECONDS = 10.0
EVIDENCE = "SUPERVISOR_EVIDENCE"
#: the folder, below that of a run, for its plugins and their notes
PROBES = "plugins"
#: a probe looks for this file there once it notes which code its process runs
MARKER = "notes-for-itself"


class Place(Protocol):
    """Where the tests of one claim run: a trial, or a claim's share of one."""

    #: this claim's runs
    runs: list[Run]
    #: how many of them were made for another claim as well
    saved: int
    #: the duration of its setup; 0: there was none, it was cached, or its duration is unknown
    setup_seconds: float

    @property
    def folder(self) -> Path: ...

    @property
    def log(self) -> str: ...

    @property
    def note(self) -> str:
        """What a person has to know about its runs."""
        ...

    async def head_of(self, path: str) -> bytes:
        """The first bytes of a file in the prepared checkout; empty if there is no such file."""
        ...

    async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run: ...

    async def run_again(self, node: str, count: int, times: float) -> list[Run]:
        """`count` plain runs, each in a fresh copy."""
        ...

    @property
    def width(self) -> int:
        """How many experiments are asked for at a time."""
        ...

    async def run_each(self, nodes: Sequence[str], times: float, instruments: Sequence[Instruments]) -> list[Run]:
        """One run with each of these instruments."""
        ...


class Checkout(Place, Protocol):
    """A trial."""

    @property
    def can_lay(self) -> bool:
        """Whether it can have other views than what is prepared, and show them to several runs at a time."""
        ...

    async def view(self, sha: str) -> View:
        """The state of another commit. Raises Unready."""
        ...


class AnyTrials(Protocol):
    """Makes trials, on this machine or elsewhere."""

    def trial(
        self, batch: Batch, sha: str, name: str, *, replaced: Mapping[str, bytes | None] | None = None
    ) -> AbstractAsyncContextManager[Checkout]:
        """`replaced`: paths with the content that replaces the commit's; None: no file. Raises Unready, GitFailed."""
        ...

    def pool_of(self, batch: Batch) -> str:
        """The pool in which they run; "": on this machine."""
        ...


def setup_failed(profile: Profile, done: Ended) -> str:
    last = " ".join(clean(done.tail).strip().splitlines()[-1:])[:200]
    why = ended_for(done.met, profile) or f"{last or f'exit code {done.code}'}"
    return "; ".join(filter(None, [f"its setup failed: {why}", missed(done.met)]))


def log_of(runs: Sequence[Run], note: str) -> str:
    head = [f"{note}\n"] if note else []
    return "\n".join([*head, *(f"$ {run.command}\n{clean(run.ended.tail)}\n[{run.ended.code}]\n" for run in runs)])


class Unready(Exception):
    """A checkout can't be made ready, such as when its setup fails or its walls can't be built."""


def laid(profile: Profile, base: Base, replaced: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """The files in which a checkout differs from its commit. Raises Unready. Blocking."""
    if front := base.fronts([".", *profile.python_path] if "-m" in profile.pytest else profile.python_path):
        raise Unready(f"{front} would be imported in place of a module that pytest itself needs")
    return {**base.settings(Allowed(profile.allow_paths, profile.deny_paths)), **replaced}


def asked_for(batch: Batch, nodes: Sequence[str], times: float, instruments: Instruments) -> tuple[str, float]:
    """The command that agents are given, limited to `times` the time of one test, and that limit. A file that is
    nobody's job is run as a whole, including tests that were not asked for at submit."""
    profile = batch.profile
    limit = profile.test_timeout_seconds * times
    whole = all("::" not in node and node not in batch.tests for node in nodes)
    asked = replace(profile, test_timeout_seconds=limit, pytest_args=(*instruments.args, *profile.pytest_args))
    return run_command(asked, *nodes, whole=whole), limit


def instrumented(env: Mapping[str, str], folder: Path, instruments: Instruments) -> dict[str, str]:
    more = dict(env)
    more["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder / PROBES), env.get("PYTHONPATH")]))
    more["PYTEST_PLUGINS"] = ",".join(filter(None, [env.get("PYTEST_PLUGINS"), *instruments.plugins]))
    return {**more, EVIDENCE: str(folder), **instruments.env}
