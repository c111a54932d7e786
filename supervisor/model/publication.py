"""What an agent published: its claims, as sanitized data, and the parts that were refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

type Part = Literal["archive", "outcome", "meta", "bundle", "artifacts"]


@dataclass(frozen=True, slots=True)
class ChangeClaim:
    kind: str
    status: Literal["SUCCEEDED", "FAILED"]
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Escalation:
    kind: str
    title: str
    detail: str = ""
    locations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TestRun:
    __test__: ClassVar[bool] = False  # tells pytest not to collect this class

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """What an agent states about its job. Nothing in it is verified; every text is bounded and printable."""

    changes: tuple[ChangeClaim, ...] = ()
    errored: bool = False
    #: why it could not continue; "": it was not blocked
    blocked: str = ""
    tests_passing_before: bool | None = None
    tests_passing_after: bool | None = None
    summary: str = ""
    test_runs: tuple[TestRun, ...] = ()
    escalations: tuple[Escalation, ...] = ()
    #: unknown fields, and fields of an unexpected type
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def succeeded_kinds(self) -> tuple[str, ...]:
        return tuple(change.kind for change in self.changes if change.status == "SUCCEEDED")


@dataclass(frozen=True, slots=True)
class Meta:
    """The metadata that the publish tool adds to the outcome; "": unknown."""

    head: str = ""
    base: str = ""
    branch: str = ""
    batch: str = ""
    job: str = ""
    attempt: str = ""
    rescued: bool = False
    #: artifacts left out because of their size or number
    skipped: tuple[str, ...] = ()
    #: work that could not be rescued
    unsaved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """`reason` is a stable word, such as `path-escape`; `message` is one sentence."""

    part: Part
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Publication:
    """An unpacked archive: its usable parts, and the refusals of the others."""

    folder: Path
    outcome: Statement | None = None
    meta: Meta = Meta()
    #: not verified yet: the git store does that
    bundle: Path | None = None
    #: paths below `folder`
    artifacts: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def objection(self) -> Refusal | None:
        """Why the outcome can't be believed: the archive was tampered with, or the outcome is invalid."""
        return next((refusal for refusal in self.refusals if refusal.part in ("archive", "outcome")), None)

    @property
    def believable(self) -> bool:
        return self.outcome is not None and self.objection is None
