"""Events of the survey of a batch's base."""

from dataclasses import dataclass

from supervisor.model.event.subjects import BatchEvent
from supervisor.model.survey import NOTHING_FOUND, Surveyed


@dataclass(frozen=True, slots=True)
class SurveyStarted(BatchEvent):
    """Some of the batch's files are run at its base."""

    #: of this group of files
    number: int
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SurveyEnded(BatchEvent):
    """These files were run at the base; the result of each test is kept in the state directory."""

    number: int
    found: Surveyed = NOTHING_FOUND


@dataclass(frozen=True, slots=True)
class SurveyAbandoned(BatchEvent):
    """The files need not be run now: the batch is over, or stopped."""

    number: int
