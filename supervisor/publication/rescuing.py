"""Fetches whatever an agent left without publishing, of any size, or says what could not be fetched.

On this machine our git reads the clone itself. On another host a shell runs our publish tool: its text is sent with
the call, because the copy on the host may have been replaced. What it packs is fetched in pieces.
"""

import re
import shlex
import tarfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from supervisor.adapters.layout import FOLDER, OUTCOME, PIECE, RESCUED, RESCUED_BUNDLE, Layout
from supervisor.errors import DeviceFailed, GitFailed, Hostile
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.publication import Meta
from supervisor.ports import AgentAddress, Agents, Collection, ExecResult
from supervisor.publication.archive import unpack
from supervisor.publication.quarantine import Quarantine
from supervisor.threads import at_length, in_thread, surely

#: the deadline of the tool, which commits and bundles whatever is in a work directory
RESCUE_SECONDS = 1800.0
PIECE_BYTES = 32 * 2**20
PIECE_SECONDS = 120.0
#: as many artifacts as `unpack` takes
MOST_FILES = 1_000
MAX_WORDS = 500

NO_WORK = "it left no work"

_SIZE = re.compile(r"^bundle: ([0-9]{1,15})$", re.MULTILINE)


def rescue_command() -> str:
    """Our own tool, word for word, for a shell on the agent's host."""
    script = Path(str(files("supervisor.agents") / "publish")).read_text()
    return f"sh -c {shlex.quote(script)} publish --rescue"


class Rescuer:
    def __init__(self, agents: Agents, quarantine: Quarantine, layout: Layout) -> None:
        self._agents, self._quarantine, self._layout = agents, quarantine, layout

    async def here(self, batch: Batch, attempt: Attempt, clone: Path) -> Collection:
        """From a clone on this machine."""
        await in_thread(self._keep_words, attempt)
        if not await in_thread(clone.is_dir):
            return Collection(detail=f"its clone is gone: there is no folder {clone}")
        taken = await self._quarantine.take(Path(batch.repo), clone, attempt.key, base=batch.base)
        return _collection(taken.head, taken.commits, taken.notes, taken.unsaved, str(clone))

    def _keep_words(self, attempt: Attempt) -> None:
        """Keep its outcome and artifacts, as far as they are acceptable."""
        folder = self._agents.state_dir(attempt.agent_id) / FOLDER
        packed = self._into(attempt.key).with_suffix(".tar")
        with suppress(OSError, Hostile):
            packed.parent.mkdir(parents=True, exist_ok=True)
            try:
                with tarfile.open(packed, "w", format=tarfile.GNU_FORMAT) as tar:
                    found = [folder / Path(OUTCOME).name, *(folder / "artifacts").rglob("*")]
                    for path in found[:MOST_FILES]:
                        if path.is_file() and not path.is_symlink():
                            tar.add(path, str(path.relative_to(folder)), recursive=False)
                unpack(packed, self._into(attempt.key))
            finally:
                packed.unlink(missing_ok=True)

    def _into(self, key: AttemptKey) -> Path:
        return self._layout.attempt(key) / Path(RESCUED).stem

    async def elsewhere(self, batch: Batch, attempt: Attempt, said: ExecResult) -> Collection:
        """`said`: what `rescue_command` printed on the agent's host."""
        if not said.success:
            why = " ".join(said.stderr.split())[-MAX_WORDS:]
            return Collection(unsaved=f"all of it: the rescue failed on its host: {why or 'no word why'}")
        try:
            meta = await self._meta(attempt)
            size = int(found[1]) if (found := _SIZE.search(said.stdout)) else 0
            if not size:
                return _collection("", 0, list(meta.notes), list(meta.unsaved), "")
            imported = await self._imported(batch, attempt, size)
        except (Hostile, GitFailed) as failed:
            return Collection(unsaved=f"all of it: {failed.message}")
        return _collection(imported[0], imported[1], list(meta.notes), list(meta.unsaved), "")

    async def _meta(self, attempt: Attempt) -> Meta:
        into = self._into(attempt.key)
        archive = into.with_suffix(".tar")
        try:
            await self._pull(attempt, RESCUED, archive)
            return (await at_length(unpack, archive, into)).meta
        finally:
            await surely(archive.unlink, missing_ok=True)

    async def _imported(self, batch: Batch, attempt: Attempt, size: int) -> tuple[str, int]:
        repo, bundle = Path(batch.repo), self._into(attempt.key).with_suffix(".bundle")
        room = await self._quarantine.room(repo)
        if size > room:
            raise Hostile(f"it is {size} bytes, and there is room for {room}", reason="bundle-too-large")
        try:
            await in_thread(bundle.write_bytes, b"")
            for number in range(-(-size // PIECE_BYTES)):
                await self._piece(attempt, bundle, number)
            if (got := (await in_thread(bundle.stat)).st_size) != size:
                raise Hostile(f"of {size} bytes {got} arrived", reason="truncated")
            imported = await self._quarantine.import_whole(repo, bundle, attempt.key, base=batch.base)
        finally:
            await surely(bundle.unlink, missing_ok=True)
        return imported.head, imported.commits

    async def _piece(self, attempt: Attempt, bundle: Path, number: int) -> None:
        piece = bundle.with_suffix(".piece")
        source, target = (f'"$MNGR_AGENT_STATE_DIR/{name}"' for name in (RESCUED_BUNDLE, PIECE))
        # 1 MiB in bytes: not every dd knows a suffix for it.
        cut = f"dd if={source} of={target} bs=1048576 skip={number * 32} count=32 2>/dev/null"
        try:
            said = await self._agents.exec(AgentAddress.of(attempt), cut, timeout=PIECE_SECONDS)
            if not said.success:
                raise Hostile("a piece of it could not be cut", reason="truncated")
            await self._pull(attempt, PIECE, piece)
            await in_thread(_append, piece, bundle)
        finally:
            await surely(piece.unlink, missing_ok=True)

    async def _pull(self, attempt: Attempt, name: str, into: Path) -> None:
        address = AgentAddress.of(attempt)
        where = (await self._agents.exec(address, 'echo "$MNGR_AGENT_STATE_DIR"')).stdout.strip()
        if not where.startswith("/"):
            raise DeviceFailed(f"can't tell where the agent {attempt.agent_name} keeps its state")
        await in_thread(into.parent.mkdir, parents=True, exist_ok=True)
        await self._agents.pull(address, f"{where}/{name}", into)


def _append(piece: Path, bundle: Path) -> None:
    if piece.stat().st_size > PIECE_BYTES:
        raise Hostile("a piece of it is too large", reason="bundle-too-large")
    with bundle.open("ab") as file:
        file.write(piece.read_bytes())


def _collection(head: str, commits: int, notes: list[str], unsaved: list[str], clone: str) -> Collection:
    said = "; ".join(notes)[: 4 * MAX_WORDS]
    missing = "; ".join(unsaved)[: 4 * MAX_WORDS]
    if not head and not missing:
        said = "; ".join(filter(None, [NO_WORK, said]))
    return Collection(head, commits, detail=said, unsaved=missing, clone=clone if missing else "")
