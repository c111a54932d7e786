"""A journal of every released version loads for ever: `scripts/release-journal` makes one at each release."""

import asyncio
import shutil
from functools import reduce
from pathlib import Path

import pytest

from supervisor.adapters.sqlite.journal import open_journal
from supervisor.flow.history import apply
from supervisor.model.event import KINDS
from supervisor.model.state import State
from tests.adapters.story import everything

JOURNALS = sorted((Path(__file__).parents[1] / "data" / "journals").glob("*.sqlite3"))


def test_the_story_tells_of_every_kind_of_event() -> None:
    """So does the journal that a release makes of it. A new kind of event wants a place in `story`."""
    assert {event.kind for event in everything("0" * 12)} == set(KINDS)


def test_there_is_a_journal_of_a_release() -> None:
    assert JOURNALS


@pytest.mark.parametrize("released", JOURNALS, ids=lambda released: released.name)
def test_the_journal_of_a_release_is_read_and_replayed(released: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(released, tmp_path))
    journal = open_journal(path)
    try:
        records = list(journal.replay())
        sealed = asyncio.run(journal.sealed())
        everyone = asyncio.run(journal.read(limit=10_000))
    finally:
        asyncio.run(journal.close())
    state = reduce(apply, (record.event for record in records), State(installation=journal.installation))
    assert set(state.batches) == {"third"}
    assert {each.id for each in sealed} == {"first", "second", "fourth"}
    assert len(everyone) > len(records)
    # From the first event on it is one history, with the batches that are sealed by now.
    reduce(apply, (record.event for record in everyone), State(installation=journal.installation))
