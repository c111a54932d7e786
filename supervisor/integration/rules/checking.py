"""Checking an integrator's branch, its shape and its trailers, and its outcome.

Each objection has a name. A branch may differ from the machine's only in its order and by one commit for each
conflict. So each commit is one of the machine's or the resolution of one conflict; anything else is refused. The
content of the commits is compared elsewhere. Pure.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from supervisor.integration.rules.ledger import ChangeRow
from supervisor.integration.rules.messages import trailers_in
from supervisor.integration.rules.work import Unit
from supervisor.model.change import Change
from supervisor.model.ledger import Fate

type Reason = Literal[
    "not-on-base",  # the parent of its first commit is not the batch's base
    "not-linear",  # a merge, or a commit whose parent is not the previous commit
    "unlabelled-commit",  # no trailers
    "invented-change",  # a trailer names a change that is neither on the machine's branch nor in conflict
    "mixed-changes",  # one commit for several of the machine's commits or conflicts
    "wrong-job",  # a trailer names a job that the change does not belong to
    "repeated-change",  # two commits for the same change
    "dropped-change",  # a commit of the machine's is missing, or a conflict is neither resolved nor given up
    "rewritten-commit",  # a commit of the machine's has another author or message
    "altered-content",  # the content of a commit differs from what it may be
    "foreign-file",  # a resolution changes a file that is not part of the conflict
    "empty-resolution",  # a resolution changes nothing
    "left-marks",  # a resolution contains conflict markers
]


@dataclass(frozen=True, slots=True)
class BranchCommit:
    sha: str
    parents: tuple[str, ...]
    message: str
    kind: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Objection:
    reason: Reason
    detail: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Placed:
    """What a commit claims to be: one of the machine's, or the resolution of a job's conflict."""

    commit: BranchCommit
    machine: str = ""
    resolves: Unit | None = None


def shape(base: str, commits: Sequence[BranchCommit]) -> Iterator[Objection]:
    before = base
    for commit in commits:
        if commit.parents != (before,):
            straight = before == base and len(commit.parents) < 2
            yield Objection(
                "not-on-base" if straight else "not-linear", f"the parent of {commit.sha} is not {before}"
            )
            return
        before = commit.sha


def placed(
    batch: str, commits: Sequence[BranchCommit], machine: Mapping[str, Collection[str]], aside: Sequence[Unit]
) -> tuple[list[Placed], list[Objection]]:
    """What each commit claims to be, and objections.

    `machine`: the changes in each of the machine's commits; `aside`: the units in conflict."""
    merged = {change: sha for sha, changes in machine.items() for change in changes}
    own = {unit.job: unit for unit in aside}
    found, lies = list[Placed](), list[Objection]()
    for commit in commits:
        jobs, changes = trailers_in(commit.message)
        conflicts, held = _told_apart({job: f"{batch}.{job}" in jobs for job in own}, own, merged)
        if commit.sha in machine:
            found.append(Placed(commit, machine=commit.sha))
        elif (lie := _untrue(commit, changes, held, conflicts)) is not None:
            lies.append(lie)
        elif (unit := conflicts.get(changes[0])) is not None:
            found.append(Placed(commit, resolves=unit))
            lies += [
                Objection("wrong-job", f"{commit.sha} resolves a conflict of {batch}.{unit.job} but names {job}")
                for job in jobs
                if job != f"{batch}.{unit.job}"
            ]
        elif set(changes) != set(machine[held[changes[0]]]):
            lies.append(
                Objection("mixed-changes", f"{commit.sha} has only a part of the machine's {held[changes[0]]}")
            )
        else:
            found.append(Placed(commit, machine=held[changes[0]]))
    return found, [*lies, *_repeated(found)]


def _told_apart(
    is_named: Mapping[int, bool], aside: Mapping[int, Unit], merged: Mapping[str, str]
) -> tuple[dict[str, Unit], dict[str, str]]:
    """The conflicts and the machine's commits, by change. Where two jobs brought the same commit, and one of them is
    in conflict, its name says which is meant."""
    units = sorted(aside.values(), key=lambda unit: is_named[unit.job])
    conflicts = {change.sha: unit for unit in units for change in unit.changes}
    meant = {sha for sha, unit in conflicts.items() if is_named[unit.job]}
    return conflicts, {sha: commit for sha, commit in merged.items() if sha not in meant}


def _untrue(
    commit: BranchCommit, changes: Sequence[str], held: Mapping[str, str], conflicts: Mapping[str, Unit]
) -> Objection | None:
    if not changes:
        return Objection("unlabelled-commit", f"{commit.sha} names no change and is not one of the machine's commits")
    if invented := [change for change in changes if change not in held and change not in conflicts]:
        return Objection(
            "invented-change", f"{commit.sha} names {invented[0]}, which is neither merged nor in conflict"
        )
    parts = {held.get(change) or f"a conflict of job {conflicts[change].job}" for change in changes}
    if len(parts) > 1:
        return Objection("mixed-changes", f"{commit.sha} mixes {', '.join(sorted(parts))}")
    return None


def _repeated(found: Sequence[Placed]) -> Iterator[Objection]:
    seen = set[str]()
    for each in found:
        what = each.machine or (f"the conflict of job {each.resolves.job}" if each.resolves else "")
        if what in seen:
            yield Objection("repeated-change", f"{each.commit.sha} repeats {what}")
        seen.add(what)


def dropped(
    found: Sequence[Placed], machine: Mapping[str, Collection[str]], aside: Sequence[Unit], failed: Mapping[str, str]
) -> Iterator[Objection]:
    """Objections to missing changes. `failed`: changes that the integrator gave up, with its reasons; it may give up
    conflicts, but not changes that are already merged."""
    there = {each.machine for each in found}
    for sha, changes in machine.items():
        if sha not in there:
            reasons = [failed[change] for change in changes if failed.get(change)]
            why = f"; the integrator gave it up: {reasons[0]}" if reasons else ""
            yield Objection("dropped-change", f"{sha}, which the machine merged, is missing{why}")
    resolved = {each.resolves.job for each in found if each.resolves is not None}
    for unit in aside:
        if unit.job not in resolved and not any(failed.get(change.sha) for change in unit.changes):
            sha = unit.changes[0].sha
            yield Objection("dropped-change", f"the change {sha} is neither resolved nor listed in `failed`")


MAX_REASON = 300
MOST_RANKED = 10_000


def given_up(extra: Mapping[str, object]) -> dict[str, str]:
    """Changes that an integrator gave up, with its reasons. Its outcome is hostile."""
    said = extra.get("failed")
    entries = [entry for entry in said if isinstance(entry, dict)] if isinstance(said, list) else []
    reasons = {entry.get("change"): entry.get("reason") for entry in entries if _is_name(entry.get("change"))}
    return {
        str(change): " ".join(reason.split())[:MAX_REASON]
        for change, reason in reasons.items()
        if isinstance(reason, str)
    }


def ranked(extra: Mapping[str, object]) -> tuple[str, ...]:
    """The fixes as an integrator ranks them, best first; () if it does not rank them."""
    said = extra.get("ranking")
    named = said[:MOST_RANKED] if isinstance(said, list) else []
    return tuple(dict.fromkeys(str(each) for each in named if _is_name(each)))


def untrue(
    failed: Mapping[str, str], ranking: Sequence[str], conflicts: Collection[str], fixes: Collection[str]
) -> Iterator[str]:
    """Statements of an integrator about changes that it was not asked about."""
    for change in failed:
        if change not in conflicts:
            yield f"the integrator lists {_shown(change)} as failed, which is not in conflict"
    for change in ranking:
        if change not in fixes:
            yield f"the integrator ranks {_shown(change)}, which is not a fix on this branch"


def with_reasons(
    rows: Sequence[ChangeRow], reasons: Mapping[str, str], left_out: Mapping[int, str]
) -> tuple[ChangeRow, ...]:
    """The rows, with the integrator's reasons for conflicts that it gave up, by change, and those why a resolution
    was left out, by job."""
    return tuple(
        replace(row, detail="; ".join(filter(None, [row.detail, _reason(row.change, reasons, left_out)])))
        if row.fate is Fate.CONFLICT
        else row
        for row in rows
    )


def _reason(change: Change, reasons: Mapping[str, str], left_out: Mapping[int, str]) -> str:
    return left_out.get(change.job, "") or reasons.get(change.sha, "")


def _is_name(said: object) -> bool:
    return isinstance(said, str) and bool(said)


def _shown(said: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in said)[:50]
