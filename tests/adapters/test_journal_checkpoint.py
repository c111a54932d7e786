"""A checkpoint is a shortcut for replay, and never says anything else."""

import sqlite3
from pathlib import Path

import pytest

from supervisor.adapters.memory_journal import MemoryJournal
from supervisor.adapters.sqlite.journal import open_journal
from supervisor.flow.history import apply
from supervisor.model import event as ev
from supervisor.model.state import State
from supervisor.ports import Journal, SealedBatch
from tests.adapters.story import everything

FILE = "journal.sqlite3"


def opened(kind: str, folder: Path) -> Journal:
    return open_journal(folder / FILE) if kind == "sqlite" else MemoryJournal()


def from_the_beginning(journal: Journal) -> State:
    state = State(installation=journal.installation)
    for record in journal.replay():
        state = apply(state, record.event)
    return state


def from_the_checkpoint(journal: Journal) -> State:
    kept = journal.checkpoint()
    assert kept is not None
    after, state = kept
    for record in journal.replay(after):
        state = apply(state, record.event)
    return state


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_it_leads_to_the_same_state_from_any_event(tmp_path: Path, kind: str) -> None:
    """Kept after any event, with the rest folded onto it: what all of it together comes to."""
    journal = opened(kind, tmp_path)
    try:
        # Up to the first sealed batch: whatever is sealed takes the checkpoint with it.
        events = everything(journal.installation)
        events = events[: next(n for n, event in enumerate(events) if isinstance(event, ev.BatchSealed))]
        state, states = State(installation=journal.installation), []
        for event in events:
            await journal.append([event])
            state = apply(state, event)
            states.append(state)
        for seq in range(1, len(events) + 1, 7):
            await journal.keep(seq, states[seq - 1])

            assert from_the_checkpoint(journal) == from_the_beginning(journal) == state
    finally:
        await journal.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_it_goes_when_a_batch_is_sealed(tmp_path: Path, kind: str) -> None:
    """Replay leaves out what is sealed, so a state that still holds it is of no use: nor is one that comes late."""
    journal = opened(kind, tmp_path)
    try:
        state = State(installation=journal.installation)
        submitted = ev.BatchSubmitted(1.0, "first", repo="/srv/shop", base="a" * 40, tests=("t.py::t",))
        seq = await journal.append([submitted])
        await journal.keep(seq, apply(state, submitted))
        assert journal.checkpoint() is not None

        await journal.append([ev.BatchSealed(2.0, "first")], [SealedBatch("first", 1.0, 2.0, "{}", "[]")])
        assert journal.checkpoint() is None

        await journal.keep(seq, apply(state, submitted))
        assert journal.checkpoint() is None
    finally:
        await journal.close()


async def test_one_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    """Of another version, or damaged: the events are all that is needed."""
    journal = open_journal(tmp_path / FILE)
    try:
        await journal.keep(await journal.append([ev.DaemonStarted(1.0)]), State(installation=journal.installation))
        with sqlite3.connect(tmp_path / FILE) as connection:
            connection.execute("UPDATE checkpoint SET body = x'c1'")
        connection.close()
        assert journal.checkpoint() is None

        with sqlite3.connect(tmp_path / FILE) as connection:
            connection.execute("UPDATE checkpoint SET shape = 'of another version'")
        connection.close()
        assert journal.checkpoint() is None
    finally:
        await journal.close()
