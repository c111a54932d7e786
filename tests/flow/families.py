"""What surveys and verifications find in a world: where siblings are held, one fixture breaks nearly all tests."""

from collections.abc import Iterable, Sequence

from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.node import file_of
from supervisor.model.survey import Surveyed
from supervisor.model.verdict import Verification


def surveyed(batch: Batch | None, files: Sequence[str]) -> Surveyed:
    if batch is None or not batch.profile.hold_siblings:
        return Surveyed(green=len(files), seconds=1.0)
    return together(job.number for job in batch.jobs() if file_of(job.test) in files)


def together(jobs: Iterable[int]) -> Surveyed:
    """Every fourth one fails at a place of its own."""
    places: dict[str, tuple[int, ...]] = {}
    for number in jobs:
        place = "tests/conftest.py:9 in till" if number % 4 == 3 else "tests/conftest.py:4 in shop"
        places[place] = (*places.get(place, ()), number)
    red = sum(map(len, places.values()))
    return Surveyed(red=red, seconds=1.0, shared=red, families=places)


def verified(batch: Batch | None, key: AttemptKey, at: float) -> ev.Event:
    """Where siblings are held, what is verified may be theirs, too."""
    verification: Verification = "verified" if batch is not None and batch.profile.hold_siblings else ""
    return ev.WorkVerified(at, *key, outcome="fixed", verification=verification)
