"""How often the selector was wrong: audited tests that failed at their base.

An audited test ran although the selector would have skipped it.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Audit:
    #: audited tests with a known result
    run: int = 0
    #: those that should not have been skipped
    missed: tuple[str, ...] = ()

    @property
    def rate(self) -> float | None:
        return len(self.missed) / self.run if self.run else None

    @property
    def sentence(self) -> str:
        """ "": nothing is known yet."""
        if not self.run:
            return ""
        named = f": {', '.join(self.missed[:3])}" if self.missed else ""
        return (
            f"wrong about {len(self.missed)} of {self.run} tests that ran although it would have skipped them{named}"
        )


def audit(results: Iterable[tuple[str, bool | None]]) -> Audit:
    """Of each audited test, whether it failed at the base; None: that is not known."""
    known = [(test, failed) for test, failed in results if failed is not None]
    return Audit(len(known), tuple(test for test, failed in known if failed))
