"""Deletes what has been kept of finished batches for long enough; `flow/retention.py` decides what that is.

Only sealed batches are touched. The checkout that a batch's agents started from is deleted at once, because it can be
made again from our repository. It stays while a worktree borrows from it, as those of kept agents may.
"""

import json
import math
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyio import Lock

from supervisor.adapters.disk import size_of
from supervisor.adapters.git import housekeeping
from supervisor.adapters.kept_agents import Kept, KeptAgents
from supervisor.adapters.layout import Layout
from supervisor.errors import DeviceFailed
from supervisor.flow.retention import DAY, Ended, Going, Limits, Remains, going, is_missed, next_look
from supervisor.ports import Cleared, Journal, SealedBatch
from supervisor.threads import at_length, in_thread


@dataclass(slots=True)
class _Stock:
    """What there is of sealed batches."""

    sealed: dict[str, SealedBatch] = field(default_factory=dict)
    #: by batch, where its refs are
    refs: dict[str, dict[Path, list[str]]] = field(default_factory=dict)
    remains: list[Remains] = field(default_factory=list)


@dataclass(slots=True)
class _Done:
    forgotten: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    #: repositories that have lost refs, and batches that have none any more
    lighter: set[Path] = field(default_factory=set)
    emptied: set[str] = field(default_factory=set)


class RoomForMore:
    def __init__(
        self,
        layout: Layout,
        journal: Journal,
        kept: KeptAgents,
        limits: Limits,
        clock: Callable[[], float] = time.time,
        *,
        prune: Callable[[float], None] = lambda days: None,
    ) -> None:
        """`prune` removes what is older from the caches; it blocks."""
        self._layout, self._journal, self._kept, self._limits, self._clock = layout, journal, kept, limits, clock
        self._prune = prune
        self._one_at_a_time = Lock()

    async def clear(self) -> Cleared:
        async with self._one_at_a_time:
            try:
                return await self._clear()
            except (DeviceFailed, OSError) as failed:
                return Cleared(problems=(str(failed),), again_at=self._clock() + DAY)

    async def _clear(self) -> Cleared:
        await at_length(self._prune, self._limits.days)
        stock, done, now = await self._stock(), _Done(), self._clock()
        size, _ = await at_length(size_of, self._layout.state_dir)
        due = going(stock.remains, size, self._limits, now)
        kept = await self._kept.all() if due else Kept()
        done.problems += kept.problems
        for each in due:
            await self._let_go(each, stock, kept, done)
        left = [each for each in stock.remains if each.batch not in done.emptied]
        await self._forget([each for each in stock.remains if each.batch in done.emptied], left)
        await self._maintain(done)
        again = next_look(left, self._limits, now)
        return Cleared(tuple(done.forgotten), tuple(done.lost), tuple(done.agents), tuple(done.problems), again)

    async def _stock(self) -> _Stock:
        """Also drops what every sealed batch has left over: the checkouts that its agents started from."""
        stock = _Stock()
        for bare in await in_thread(self._bares):
            for batch, refs in (await housekeeping.refs_by_batch(bare)).items():
                stock.refs.setdefault(batch, {})[bare] = refs
        folders = await in_thread(self._folders)
        for batch in sorted({*folders, *stock.refs}):
            if (sealed := await self._journal.sealed_batch(batch)) is None:
                continue
            size = await at_length(_without_checkouts, self._layout.batch(batch)) if batch in folders else None
            stock.sealed[batch] = sealed
            stock.remains.append(Remains(batch, sealed.finished_at, size))
        return stock

    def _bares(self) -> list[Path]:
        return sorted(self._layout.repos.glob("*.git"))

    def _folders(self) -> set[str]:
        return {each.name for each in (self._layout.state_dir / "batches").glob("*") if each.is_dir()}

    async def _let_go(self, one: Going, stock: _Stock, kept: Kept, done: _Done) -> None:
        batch = one.remains.batch
        refs = stock.refs.get(batch, {})
        # The work of an agent that no listing shows may be in these refs only; an agent that stays is compared with
        # them again.
        someone_stays = await self._put_away(batch, kept, refs, done) or bool(kept.problems)
        try:
            for bare, names in refs.items():
                missed = _missed(stock.sealed[batch], names)
                if one.expired and not someone_stays:
                    await housekeeping.drop(bare, names)
                    done.lost += missed
                elif not someone_stays:
                    await housekeeping.drop(bare, [name for name in names if name not in missed])
                done.lighter.add(bare)
            await at_length(_remove, self._layout.batch(batch))
        except (DeviceFailed, OSError) as failed:
            done.problems.append(f"batch {batch} can't be cleared away: {failed}")
            return
        if one.remains.size is not None:
            done.forgotten.append(batch)
        if one.expired and not someone_stays:
            done.emptied.add(batch)

    async def _put_away(self, batch: str, kept: Kept, refs: Iterable[Path], done: _Done) -> bool:
        """Whether one of its kept agents stays."""
        bare, stays = next(iter(refs), None), False
        for agent in kept.by_batch.get(batch, ()):
            why = f"the agent {agent.name} is kept: no ref tells what it did"
            if bare is not None:
                why = await self._kept.put_away(bare, batch, agent)
            (done.problems if why else done.agents).append(why or agent.name)
            stays = stays or bool(why)
        return stays

    async def _forget(self, emptied: Iterable[Remains], left: Iterable[Remains]) -> None:
        """Events tell what a batch's refs are, so they are deleted with the last of its refs, and by age."""
        before = max((math.nextafter(each.finished_at, math.inf) for each in emptied), default=0.0)
        if before:
            await self._journal.forget(min([before, *(each.finished_at for each in left)]))

    async def _maintain(self, done: _Done) -> None:
        for bare in await in_thread(self._bares):
            try:
                if bare in done.lighter or await in_thread(housekeeping.has_many_packs, bare):
                    await housekeeping.maintain(bare)
            except DeviceFailed as failed:
                done.problems.append(failed.message)


def _missed(sealed: SealedBatch, refs: Iterable[str]) -> list[str]:
    """Those that may hold work which is nowhere else."""
    rows: list[dict[str, Any]] = json.loads(sealed.jobs)["rows"]
    numbered = {int(str(row["id"]).rpartition(".")[2]): row for row in rows}
    ended = Ended(
        landed=bool(json.loads(sealed.status)["batch"]["branch"]),
        attempts={number: int(row["attempts"]) for number, row in numbered.items()},
        fates={number: row["ledger"] for number, row in numbered.items()},
    )
    return [ref for ref in refs if is_missed(tuple(ref.split("/")[3:]), ended)]


def _remove(folder: Path) -> None:
    """Remove the folder, unless a worktree borrows from one of its checkouts."""
    _without_checkouts(folder)
    if not any(_is_borrowed(each) for each in _checkouts(folder)):
        shutil.rmtree(folder, ignore_errors=True)


def _without_checkouts(folder: Path) -> int:
    """Drop its checkouts, and count what is left."""
    for checkout in _checkouts(folder):
        if not _is_borrowed(checkout):
            shutil.rmtree(checkout, ignore_errors=True)
    return size_of(folder)[0]


def _checkouts(folder: Path) -> list[Path]:
    return [each for each in (folder / "source", *folder.glob("integrations/*/source")) if each.is_dir()]


def _is_borrowed(checkout: Path) -> bool:
    """Whether some worktree of it is there still."""
    for told in checkout.glob(".git/worktrees/*/gitdir"):
        if Path(told.read_text(errors="surrogateescape").strip()).exists():
            return True
    return False
