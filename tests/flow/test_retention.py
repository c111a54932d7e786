"""What is kept of finished batches: the oldest go first, and what nobody has merged goes last."""

from supervisor.flow.retention import DAY, MEGABYTE, Ended, Limits, Remains, going, is_missed, next_look
from supervisor.model import event as ev
from supervisor.model.effect import Clear
from tests.flow.world import World

NOW = 1000 * DAY
LIMITS = Limits(days=10, batches=3, megabytes=5)


def remains(**ages: float) -> list[Remains]:
    """By name, how many days ago each was finished; one megabyte each."""
    return [Remains(name, NOW - age * DAY, MEGABYTE) for name, age in ages.items()]


def gone(left: list[Remains], size: int = 0) -> list[tuple[str, bool]]:
    return [(each.remains.batch, each.expired) for each in going(left, size, LIMITS, NOW)]


def test_what_is_too_old_goes_with_all_it_has() -> None:
    assert gone(remains(new=1, old=11, older=12)) == [("older", True), ("old", True)]
    assert gone([Remains("old", NOW - 11 * DAY)]) == [("old", True)], "also where only its refs are left"


def test_of_too_many_the_oldest_go() -> None:
    assert gone(remains(a=1, b=2, c=3, d=4, e=5)) == [("e", False), ("d", False)]


def test_of_too_much_the_oldest_go_but_never_the_youngest() -> None:
    assert gone(remains(a=1, b=2, c=3), 6 * MEGABYTE) == [("c", False)]
    assert gone(remains(a=1, b=2), 600 * MEGABYTE) == [("b", False)]


def test_where_only_refs_are_left_nothing_goes_early() -> None:
    assert gone([Remains("a", NOW - 9 * DAY), *remains(b=1, c=2, d=3)], 4 * MEGABYTE) == []


def test_there_is_no_next_look_where_nothing_is_kept() -> None:
    assert next_look([], LIMITS, NOW) == 0
    assert next_look(remains(a=4, b=2), LIMITS, NOW) == NOW + 6 * DAY
    assert next_look(remains(a=40), LIMITS, NOW) == NOW + DAY


def test_only_what_was_merged_and_landed_is_not_missed() -> None:
    ended = Ended(landed=True, attempts={1: 2, 2: 1, 3: 1}, fates={1: "merged", 2: "rejected", 3: "duplicate"})
    missed = {"1/1", "2/1", "1/rescued/1", "0/1", "something/else"}
    unmissed = {"base", "integrated/1", "landed/1/supervisor/b", "1/2", "3/1"}
    assert {name for name in missed | unmissed if is_missed(tuple(name.split("/")), ended)} == missed
    nowhere = Ended(landed=False, attempts=ended.attempts, fates=ended.fates)
    assert is_missed(("1", "2"), nowhere)
    assert is_missed(("integrated", "1"), nowhere)


def test_what_batches_left_is_looked_through_when_one_is_sealed_and_when_that_says() -> None:
    world = World(local=1).submit().run()
    assert len(world.told(ev.ClearingEnded)) == 1
    world.happens(ev.ClearingEnded(world.now, again_at=world.now + DAY))
    assert not world.pending(Clear)
    world.wait(DAY)
    assert len(world.pending(Clear)) == 1


def test_a_restart_looks_again_in_a_while() -> None:
    world = World(local=1).restart()
    assert not world.pending(Clear)
    assert len(world.wait(600).pending(Clear)) == 1
