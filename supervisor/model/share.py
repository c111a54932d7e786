"""How much of a subscription's window is used, as its provider reports it."""

from dataclasses import dataclass

#: A week is the longest window that is believed.
MOST_MINUTES = 7 * 24 * 60
_UNITS = ((24 * 60, "day"), (60, "hour"), (1, "minute"))


@dataclass(frozen=True, slots=True)
class WindowShare:
    #: its length
    minutes: int
    #: the share from 0 to 1, by agents and people together
    used: float
    resets_at: float
    #: when the provider said so
    told_at: float = 0.0

    @property
    def name(self) -> str:
        """Such as 5h or 7d."""
        number, unit = self._length
        return f"{number}{unit[0]}"

    @property
    def called(self) -> str:
        """The name for a sentence, such as "5-hour window"."""
        number, unit = self._length
        return f"{number}-{unit} window"

    @property
    def _length(self) -> tuple[int, str]:
        size, unit = next(each for each in _UNITS if not self.minutes % each[0])
        return self.minutes // size, unit

    @property
    def seconds(self) -> float:
        return self.minutes * 60.0
