"""How old lines are when they are shown."""

from collections.abc import Iterable


def within(seconds: float, lags: Iterable[float]) -> str:
    """The median, the 99th of a hundred, and the share of those that were quick enough."""
    found = sorted(lags)
    quick = sum(lag <= seconds for lag in found) / len(found)
    half, most = (found[int(share * (len(found) - 1))] for share in (0.5, 0.99))
    told = f"{len(found)} lines of transcripts: shown {half:.1f} s after they were said (median), {most:.1f} s (p99),"
    return f"{told} {found[-1]:.1f} s at most, {quick:.1%} within {seconds:g} s"
