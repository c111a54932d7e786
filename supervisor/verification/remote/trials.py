"""Trials on another host: each run of a claim is a question to a verifier there, and its answer becomes a `Run`.

If a verifier vanishes, hangs or lies, a new one gets the same question; after `MOST_TRIES` of them the claim is not
verified, with the reason. While the whole provider is out of reach, no tries are counted: the claim waits.
"""

import os
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from anyio import Lock

from supervisor.adapters.git.checkouts import discard
from supervisor.adapters.git.store import GitStore
from supervisor.errors import DeviceFailed
from supervisor.model.batch import Batch
from supervisor.publication.rules.outcome import clean
from supervisor.threads import in_thread
from supervisor.verification.evidence.seen import MAX_BYTES, MOST_BYTES
from supervisor.verification.evidence.switching import UNTOLD
from supervisor.verification.remote.exchange import Answer, Disbelieved, Done, checked, heard, tail, unpacked
from supervisor.verification.remote.questions import Questions, Wanted, subject_of
from supervisor.verification.remote.verifiers import Verifier, Verifiers
from supervisor.verification.trials.asking import PROBES, SETUP_SECONDS, Unready, log_of, setup_failed
from supervisor.verification.trials.reports import understood
from supervisor.verification.trials.running import Ended
from supervisor.verification.trials.runs import PLAIN, Instruments, Run, View
from supervisor.verification.trials.tidying import HEAD
from supervisor.verification.trials.viewing import prepared
from supervisor.verification.walls.sandbox import ended_for, missed

MOST_TRIES = 3
#: so many experiments are one question
MOST_AT_ONCE = 4
#: how long a host may take for other work: objects, a checkout, copies
BESIDES_SECONDS = 120.0
#: the notes of probes are fetched; one byte more than is read shows that there was more
NOTES = dict.fromkeys(("seen", "asked", UNTOLD), MAX_BYTES + 1)

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class RemoteTrial:
    questions: Questions
    verifiers: Verifiers
    #: on this machine, for the notes that runs bring back
    folder: Path
    runs: list[Run] = field(default_factory=list)
    saved: int = 0
    setup_seconds: float = 0.0
    #: the verifier that was asked last, and the first stamp of what was prepared there
    _verifier: Verifier | None = None
    _stamp: str = ""
    _lock: Lock = field(default_factory=Lock)

    @property
    def batch(self) -> Batch:
        return self.questions.batch

    @property
    def pool(self) -> str:
        return self.questions.pool

    @property
    def log(self) -> str:
        return log_of(self.runs, self.note)

    @property
    def note(self) -> str:
        notes = [f"in the pool {self.pool}"]
        if self._verifier is not None and self._verifier.hello.lacks:
            notes.append(f"without walls: {clean(self._verifier.hello.lacks, 200)}")
        return "; ".join(notes)

    @property
    def can_lay(self) -> bool:
        """The files of a view would be sent with each question."""
        return False

    async def view(self, sha: str) -> View:
        assert sha == self.questions.subject.sha, "there is one view"
        return await in_thread(prepared, self.questions.bare, sha)

    async def run(self, *nodes: str, times: float = 1, instruments: Instruments = PLAIN) -> Run:
        [run] = await self._run([Wanted.of(self.batch, nodes, times, instruments)])
        return run

    async def run_again(self, node: str, count: int, times: float) -> list[Run]:
        """With one question: its round trip takes longer than many tests."""
        return await self._run([Wanted.of(self.batch, (node,), times, PLAIN) for _ in range(count)])

    @property
    def width(self) -> int:
        return MOST_AT_ONCE

    async def run_each(self, nodes: Sequence[str], times: float, instruments: Sequence[Instruments]) -> list[Run]:
        return await self._run([Wanted.of(self.batch, tuple(nodes), times, each) for each in instruments])

    async def _run(self, wanted: Sequence[Wanted]) -> list[Run]:
        async with self._lock:
            answer, verifier = await self._answered(wanted, ())
            checkout = self.questions.places(verifier).checkout
            made = [
                await in_thread(self._told, answer, done, checkout, each)
                for done, each in zip(answer.runs, wanted, strict=True)
            ]
            self.runs += made
        return made

    async def head_of(self, path: str) -> bytes:
        async with self._lock:
            answer, _ = await self._answered([], (path,))
        return unpacked(answer.heads.get(path, ""), HEAD)

    async def _answered(self, wanted: Sequence[Wanted], heads: Sequence[str]) -> tuple[Answer, Verifier]:
        """Raises Unready if its setup fails, DeviceFailed if no verifier gives an answer that can be believed."""
        trouble, tries = "", 0
        while tries < MOST_TRIES:
            try:
                async with self.verifiers.lent(self.batch, self.pool) as verifier:
                    answer = await self._ask(verifier, wanted, heads)
            except DeviceFailed as failed:
                trouble = failed.message
                if not await self.verifiers.waited_out(self.pool, failed):
                    tries += 1
                    log.warning("a verifier is of no use", pool=self.pool, why=trouble)
                continue
            if answer.unready is not None:
                raise Unready(self._not_ready(answer.unready))
            return answer, verifier
        never = f"no verifier in the pool {self.pool} gave an answer that can be believed"
        raise DeviceFailed(f"{never}, {MOST_TRIES} times in a row: {clean(trouble, 200)}")

    async def _ask(self, verifier: Verifier, wanted: Sequence[Wanted], heads: Sequence[str]) -> Answer:
        self._meet(verifier)
        setup = SETUP_SECONDS if self.batch.profile.setup else 0
        deadline = sum(each.seconds for each in wanted) + BESIDES_SECONDS + setup
        sha = self.questions.subject.sha
        for _ in range(2):
            preparation = await self.questions.preparation(verifier)
            runs = [self.questions.run(verifier, each) for each in wanted]
            asked = {**preparation, "heads": list(heads), "runs": runs}
            answer = await self.verifiers.ask(verifier.address, asked, Answer, deadline)
            answer = checked(answer, self.questions.subject.tree, len(runs))
            if not answer.is_missing:
                verifier.has.add(sha)
                verifier.done.difference_update(preparation["done"])
                return answer
            verifier.has.discard(sha)
        raise Disbelieved("it does not find the commit that it was sent")

    def _meet(self, verifier: Verifier) -> None:
        if verifier is not self._verifier:
            self._verifier, self._stamp = verifier, ""
        if self.batch.profile.sandbox == "require" and verifier.hello.lacks:
            why = clean(verifier.hello.lacks, 200)
            raise Unready(f"walls can't be built in the pool {self.pool} ({why}), and the profile requires them")

    def _told(self, answer: Answer, done: Done, checkout: Path, wanted: Wanted) -> Run:
        """Blocking."""
        if done.unbuilt:
            raise Unready(_unbuilt(done))
        folder = self.folder / secrets.token_hex(6)
        (folder / PROBES).mkdir(parents=True)
        for name, most in NOTES.items():
            if content := unpacked(done.notes.get(name, ""), most):
                (folder / PROBES / name).write_bytes(content)
                if len(content) == most:  # so long that nobody takes it for whole
                    os.truncate(folder / PROBES / name, MOST_BYTES + 1)
        self._stamp = self._stamp or answer.prepared
        is_touched = not self._stamp == answer.prepared == answer.stamp
        stray = "it wrote into the place that the checkouts of its runs are copied from" if is_touched else ""
        ended = _ended(done)
        report = understood(heard(done.heard, wanted.nonce), checkout)
        met = ended_for(ended.met, self.batch.profile, is_here=False), missed(ended.met)
        return Run(wanted.command, ended, report, wanted.nodes, done.seconds, wanted.limit, folder, stray, *met)

    def _not_ready(self, done: Done) -> str:
        return _unbuilt(done) if done.unbuilt else setup_failed(self.batch.profile, _ended(done))

    def leave(self) -> None:
        if self._verifier is not None:
            self._verifier.done.add(self.questions.id)


def _ended(done: Done) -> Ended:
    return Ended(done.code, tail(done), done.is_lost, tuple(done.met))


def _unbuilt(done: Done) -> str:
    return f"the walls around it can't be built: {clean(done.unbuilt, 200)}"


class RemoteTrials:
    """Like `Trials`, in a pool."""

    def __init__(self, store: GitStore, state_dir: Path, verifiers: Verifiers, pool: str) -> None:
        self._store, self._folder = store, state_dir.absolute() / "hosts"
        self._verifiers, self._pool = verifiers, pool

    @asynccontextmanager
    async def trial(
        self, batch: Batch, sha: str, name: str, *, replaced: Mapping[str, bytes | None] | None = None
    ) -> AsyncIterator[RemoteTrial]:
        """Raises Unready, DeviceFailed. Only its first question shows whether it can be made ready."""
        bare = self._store.bare(Path(batch.repo))
        subject = await in_thread(subject_of, batch, bare, sha, replaced or {})
        folder = self._folder / secrets.token_hex(6)
        await in_thread(folder.mkdir, parents=True)
        trial = RemoteTrial(Questions(batch, self._pool, subject, bare), self._verifiers, folder)
        try:
            yield trial
        finally:
            trial.leave()
            await discard(folder)

    def pool_of(self, batch: Batch) -> str:
        return self._pool
