"""What an agent published: its claims, as data that is safe to keep, and what of it had to be refused."""

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
    __test__: ClassVar[bool] = False  # for pytest: this is no test

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """What an agent says of its job: nothing in it is checked, but every text is bounded and printable."""

    changes: tuple[ChangeClaim, ...] = ()
    errored: bool = False
    #: why it could not go on; "" if it could
    blocked: str = ""
    tests_passing_before: bool | None = None
    tests_passing_after: bool | None = None
    summary: str = ""
    test_runs: tuple[TestRun, ...] = ()
    escalations: tuple[Escalation, ...] = ()
    #: fields that we don't know, or of a type that we can't read
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def succeeded_kinds(self) -> tuple[str, ...]:
        return tuple(change.kind for change in self.changes if change.status == "SUCCEEDED")


@dataclass(frozen=True, slots=True)
class Meta:
    """What the publish tool noted beside the outcome; "" is unknown."""

    head: str = ""
    base: str = ""
    branch: str = ""
    batch: str = ""
    job: str = ""
    attempt: str = ""
    rescued: bool = False
    #: artifacts that were left out for their size or number
    skipped: tuple[str, ...] = ()
    #: work that a rescue could not take
    unsaved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """`reason` is a stable word, such as `path-escape`; `message` one sentence."""

    part: Part
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Publication:
    """An archive as it was unpacked: what is usable is here, whatever else was refused."""

    folder: Path
    outcome: Statement | None = None
    meta: Meta = Meta()
    #: not verified yet: see the git store
    bundle: Path | None = None
    #: paths below `folder`
    artifacts: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def objection(self) -> Refusal | None:
        """Why the outcome may not count: somebody has tampered with the archive, or it is no outcome."""
        return next((refusal for refusal in self.refusals if refusal.part in ("archive", "outcome")), None)

    @property
    def believable(self) -> bool:
        return self.outcome is not None and self.objection is None
