"""How long something takes by its size: a fixed part, and a part for each item."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    always: float = 0.0
    each: float = 0.0

    def at(self, size: int) -> float:
        return self.always + size * self.each


def fitted(points: Sequence[tuple[int, float]]) -> Line:
    """The least squares through (size, seconds); neither part is negative."""
    if not points:
        return Line()
    count = len(points)
    size, seconds = sum(n for n, _ in points) / count, sum(s for _, s in points) / count
    spread = sum((n - size) ** 2 for n, _ in points)
    slope = sum((n - size) * (s - seconds) for n, s in points) / spread if spread else 0.0
    if slope < 0 or seconds - slope * size < 0:
        # The points allow no line without a negative part: take the mean time, or the mean time for each item.
        return Line(seconds, 0.0) if slope < 0 else Line(0.0, seconds / size)
    return Line(seconds - slope * size, slope)
