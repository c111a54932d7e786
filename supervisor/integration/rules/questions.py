"""Whether a branch needs an integrator's judgement, and its task. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from supervisor.integration.rules.ledger import ChangeRow
from supervisor.integration.rules.work import Work
from supervisor.model.change import Change
from supervisor.model.ledger import ON_BRANCH, Fate
from supervisor.model.publication import Escalation

#: the least number of similar changes, and of their files, that make a repeated group
ALIKE, FILES = 3, 2
#: the least number of fixes of the implementation to rank
RANKED = 2


@dataclass(frozen=True, slots=True)
class Raised:
    """An escalation, with the job that raised it."""

    job: int
    escalation: Escalation


@dataclass(frozen=True, slots=True)
class Questions:
    #: the changes of each job in conflict, which are resolved as a whole
    conflicts: tuple[tuple[ChangeRow, ...], ...]
    #: the fixes on the branch, best first
    ranking: tuple[Change, ...]
    repeated: tuple[tuple[Change, ...], ...]
    raised: tuple[Raised, ...]

    @property
    def why(self) -> str:
        """What needs judgement, in words; "": nothing."""
        fixes = len(self.ranking) if len(self.ranking) >= RANKED else 0
        counts = (
            (len(self.conflicts), "conflict", "conflicts"),
            (fixes, "fix to rank", "fixes to rank"),
            (len(self.repeated), "repeated group", "repeated groups"),
            (len(self.raised), "escalation", "escalations"),
        )
        return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts if count)


def questions(rows: Sequence[ChangeRow], commits: Sequence[str], raised: Iterable[Raised]) -> Questions:
    """The questions after the mechanical pass: `rows` are its ledger, `commits` its branch in order."""
    holders: dict[str, Change] = {}
    for row in rows:
        if row.fate is Fate.MERGED and not row.change.is_test:
            holders[row.commit] = row.change
    aside: dict[int, list[ChangeRow]] = {}
    for row in rows:
        if row.fate is Fate.CONFLICT:
            aside.setdefault(row.change.job, []).append(row)
    return Questions(
        conflicts=tuple(map(tuple, aside.values())),
        ranking=tuple(holders[commit] for commit in commits if commit in holders),
        repeated=repeated(row.change for row in rows if row.fate in ON_BRANCH),
        raised=tuple(raised),
    )


def repeated(changes: Iterable[Change]) -> tuple[tuple[Change, ...], ...]:
    """Groups of changes that add the same lines to different files; identical patches count as one change."""
    groups: dict[str, dict[str, Change]] = {}
    for change in changes:
        if change.alike_id:
            groups.setdefault(change.alike_id, {}).setdefault(change.patch_id, change)
    found = (tuple(group.values()) for group in groups.values())
    return tuple(group for group in found if len(group) >= ALIKE and len(_files(group)) >= FILES)


def task(
    batch: str, asked: Questions, works: Mapping[int, Work], patches: Mapping[str, str], run: str
) -> dict[str, object]:
    """The content of `integration.json`, the task of the integrator's agent."""

    def named(change: Change) -> dict[str, object]:
        return {"job": f"{batch}.{change.job}", "change": change.sha, "test": works[change.job].test}

    return {
        "schema_version": 1,
        "conflicts": [
            {
                **named(row.change),
                "changes": [each.change.sha for each in (row, *more)],
                "kind": row.change.kind,
                "subject": row.change.subject,
                "paths": row.paths,
                "with": [named(rival) for rival in row.rivals],
                "patch": "\n".join(patches.get(each.change.sha, "") for each in (row, *more)),
            }
            for row, *more in asked.conflicts
        ],
        "ranking": [change.sha for change in asked.ranking],
        "repeated": [
            {
                "tests": sorted({works[change.job].test for change in group}),
                "changes": [change.sha for change in group],
                "paths": sorted(_files(group)),
            }
            for group in asked.repeated
        ],
        "escalations": [_escalated(batch, each) for each in asked.raised],
        "run": run,
    }


def _escalated(batch: str, raised: Raised) -> dict[str, object]:
    said = raised.escalation
    where = {"job": f"{batch}.{raised.job}", "locations": said.locations}
    return {**where, "kind": said.kind, "title": said.title, "detail_markdown": said.detail}


def _files(group: Iterable[Change]) -> set[str]:
    return {path for change in group for path in change.paths}
