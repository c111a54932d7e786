"""The questions to a verifier about one trial: how to prepare the checkout, and each run, with paths of its host."""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pygit2

from supervisor.adapters.git.process import git
from supervisor.model.batch import Batch
from supervisor.threads import in_thread
from supervisor.verification.evidence.laying import Contents
from supervisor.verification.evidence.lies import Telling
from supervisor.verification.remote.verifiers import Verifier
from supervisor.verification.trials.asking import (
    GRACE_SECONDS,
    PROBES,
    SETUP_SECONDS,
    Unready,
    asked_for,
    instrumented,
    laid,
)
from supervisor.verification.trials.likeness import REPORTER_SOURCE, Host, Places, Spoken, environment_of
from supervisor.verification.trials.preparing import Base
from supervisor.verification.trials.runs import Instruments
from supervisor.verification.walls.sandbox import limits_of, named

#: of a claim's commits; a larger pack would take minutes to send
MAX_PACK = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Subject:
    """What is under trial: the same on every host."""

    sha: str
    tree: str
    #: files that differ from the commit, and the base's byte code
    laid: Mapping[str, bytes | None]
    bytecode: Mapping[str, str]


def subject_of(batch: Batch, bare: Path, sha: str, replaced: Mapping[str, bytes | None]) -> Subject:
    """Raises Unready. Blocking."""
    base = Base(bare, batch.base, sha)
    tree = str(pygit2.Repository(str(bare))[sha].peel(pygit2.Tree).id)
    return Subject(sha, tree, laid(batch.profile, base, replaced), base.bytecode())


@dataclass(slots=True)
class Wanted:
    """One run that is asked for."""

    nodes: tuple[str, ...]
    command: str
    limit: float
    instruments: Instruments
    #: the name of its reporter's socket, and the nonce by which the reporter is known
    spoken: Spoken
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))

    @classmethod
    def of(cls, batch: Batch, nodes: tuple[str, ...], times: float, instruments: Instruments) -> "Wanted":
        command, limit = asked_for(batch, nodes, times, instruments)
        return cls(nodes, command, limit, instruments, Spoken(command))

    @property
    def seconds(self) -> float:
        return self.limit + GRACE_SECONDS


@dataclass(slots=True)
class Questions:
    batch: Batch
    pool: str
    subject: Subject
    bare: Path
    #: the trial's name on the verifier's host
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    _home: str = field(default_factory=lambda: secrets.token_hex(4))
    _agent: str = field(default_factory=lambda: f"agent-{secrets.token_hex(16)}")

    def places(self, verifier: Verifier) -> Places:
        return Places(Path(verifier.hello.root) / self.id / self._home, self._agent, Path())

    async def preparation(self, verifier: Verifier) -> dict[str, Any]:
        """Everything that is needed to prepare the checkout. Raises Unready, GitFailed."""
        places = self.places(verifier)
        return {
            "sha": self.subject.sha,
            "pack": "" if self.subject.sha in verifier.has else await self._pack(),
            "done": sorted(verifier.done),
            "means": verifier.hello.means,
            "sandbox": self._sandbox(verifier),
            "trial": {
                "id": self.id,
                "home": self._home,
                "checkout": str(places.checkout.relative_to(places.home)),
                "files": await in_thread(_reporter, places.plugins.relative_to(places.home)),
                "laid": {path: None if it is None else _file(it) for path, it in self.subject.laid.items()},
                "bytecode": self.subject.bytecode,
                "setup": self._setup(verifier) if self.batch.profile.setup else None,
            },
        }

    def run(self, verifier: Verifier, wanted: Wanted) -> dict[str, Any]:
        instruments, folder = wanted.instruments, secrets.token_hex(6)
        env, temporary = self._environment(verifier, wanted.nodes, wanted.spoken)
        there = Path(verifier.hello.root) / self.id / folder
        if not instruments.are_none:
            env = instrumented(env, there, instruments)
        return {
            "command": wanted.command,
            "env": env,
            "limit": wanted.seconds,
            "socket": wanted.spoken.socket,
            "nonce": wanted.nonce,
            "folder": folder,
            "temporary": temporary,
            "files": _carried(instruments.laid(there / PROBES)),
            "liar": None if instruments.liar is None else _lie(instruments.liar),
            "plugins": {f"{name}.py": _file(text.encode()) for name, text in instruments.plugins.items()},
        }

    def _setup(self, verifier: Verifier) -> dict[str, Any]:
        env, temporary = self._environment(verifier, (), Spoken())
        return {
            "command": self.batch.profile.setup,
            "env": env,
            "limit": SETUP_SECONDS,
            "temporary": temporary,
            "folder": secrets.token_hex(6),
        }

    def _environment(self, verifier: Verifier, nodes: tuple[str, ...], spoken: Spoken) -> tuple[dict[str, str], str]:
        """The environment, and the short path of its TMPDIR."""
        temporary = f"/tmp/{secrets.token_hex(5)}"
        places = replace(self.places(verifier), temporary=Path(temporary))
        host = Host(verifier.hello.env, verifier.address.provider)
        return environment_of(self.batch, places, nodes, spoken, host), temporary

    def _sandbox(self, verifier: Verifier) -> dict[str, Any]:
        profile = self.batch.profile
        limits, network = limits_of(profile), profile.sandbox_network
        return {
            "is_on": profile.sandbox != "off" and not verifier.hello.lacks,
            "network": network == "always",
            "setup_network": network in ("always", "setup"),
            "programs": profile.pytest[:1],
            "named": [str(each) for each in named(profile)],
            "read": profile.sandbox_read,
            "write": profile.sandbox_write,
            "memory": limits.memory,
            "processes": limits.processes,
            "disk": limits.disk,
        }

    async def _pack(self) -> str:
        """The objects that the base does not have."""
        asked = f"{self.subject.sha}\n^{self.batch.base}\n".encode()
        pack = await git(self.bare, "pack-objects", "-q", "--revs", "--thin", "--stdout", stdin=asked)
        if len(pack) > MAX_PACK:
            size = f"{len(pack) / 2**20:.0f} MB"
            raise Unready(
                f'its commits have {size}, too much to be sent to {self.pool}: set verify_pools = ["local"]'
            )
        return base64.b64encode(pack).decode()


def _reporter(plugins: Path) -> dict[str, Any]:
    found = sorted(REPORTER_SOURCE.glob("*.py"))
    return {str(plugins / REPORTER_SOURCE.name / each.name): _file(each.read_bytes()) for each in found}


def _file(data: bytes, kind: str = "file") -> dict[str, str]:
    return {"data": base64.b64encode(data).decode(), "kind": kind}


def _carried(files: Contents) -> dict[str, Any]:
    return {path: None if it is None else _file(it.data, it.kind) for path, it in files.items()}


def _lie(liar: Telling) -> dict[str, str]:
    return {"program": liar.program, "how": liar.how, "body": liar.lie.body}
