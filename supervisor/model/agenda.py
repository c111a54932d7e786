"""The agenda: what is due, and when. `plan` looks only at this and at free slots."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from immutables import Map

#: an action and its subject: ("collect", "k3f9x", 12, 1)
type Item = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Agenda:
    """A persistent priority queue. It has a few entries for each agent and open batch: hundreds, not thousands."""

    times: Map[Item, float] = field(default_factory=Map)
    #: the same entries, sorted by time
    order: tuple[tuple[float, Item], ...] = ()

    def put(self, item: Item, at: float) -> "Agenda":
        order = list(self._without(item))
        insort(order, (at, item))
        return Agenda(self.times.set(item, at), tuple(order))

    def drop(self, item: Item) -> "Agenda":
        if item not in self.times:
            return self
        return Agenda(self.times.delete(item), self._without(item))

    def due(self, now: float) -> Iterator[Item]:
        for at, item in self.order:
            if at > now:
                return
            yield item

    @property
    def next_at(self) -> float | None:
        return self.order[0][0] if self.order else None

    def _without(self, item: Item) -> tuple[tuple[float, Item], ...]:
        if (at := self.times.get(item)) is None:
            return self.order
        place = bisect_left(self.order, (at, item))
        return self.order[:place] + self.order[place + 1 :]
