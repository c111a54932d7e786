"""What an integrator claims, by the shape and the trailers of its branch, and by its outcome.

Each objection has a name. A branch may differ from the machine's in two ways: its order, and one commit for each
conflict. So each of its commits is one of the machine's, or the resolution of one conflict, or a lie. What they hold
is compared elsewhere, by content. Pure.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from supervisor.integration.rules.ledger import ChangeRow
from supervisor.integration.rules.messages import trailers_in
from supervisor.integration.rules.work import Unit
from supervisor.model.ledger import Fate

type Reason = Literal[
    "not-on-base",  # its first commit doesn't stand on the batch's base
    "not-linear",  # a merge, or a commit that doesn't stand on the one before
    "unlabelled-commit",  # no trailers
    "invented-change",  # a trailer names a change that is neither on the machine's branch nor in conflict
    "mixed-changes",  # several of the machine's commits or conflicts in one
    "wrong-job",  # a trailer names a job that the change is not of
    "repeated-change",  # two commits for the same
    "dropped-change",  # a commit of the machine's is not there, or a conflict neither there nor given up
    "rewritten-commit",  # one of the machine's has another author or message
    "altered-content",  # a commit does something else than it may
    "foreign-file",  # a resolution touches a file that the conflict has no part in
    "empty-resolution",  # a resolution changes nothing
    "left-marks",  # a resolution leaves the marks of a conflict
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
    """What one of its commits claims to be: one of the machine's, or the resolution of a job's conflict."""

    commit: BranchCommit
    machine: str = ""
    resolves: Unit | None = None


def shape(base: str, commits: Sequence[BranchCommit]) -> Iterator[Objection]:
    before = base
    for commit in commits:
        if commit.parents != (before,):
            straight = before == base and len(commit.parents) < 2
            yield Objection("not-on-base" if straight else "not-linear", f"{commit.sha} does not stand on {before}")
            return
        before = commit.sha


def placed(
    batch: str, commits: Sequence[BranchCommit], machine: Mapping[str, Collection[str]], aside: Sequence[Unit]
) -> tuple[list[Placed], list[Objection]]:
    """`machine`: the changes that each of the machine's commits holds; `aside`: what is in conflict."""
    conflicts = {change.sha: unit for unit in aside for change in unit.changes}
    held = {change: sha for sha, changes in machine.items() for change in changes}
    found, lies = list[Placed](), list[Objection]()
    for commit in commits:
        jobs, changes = trailers_in(commit.message)
        if commit.sha in machine:
            found.append(Placed(commit, machine=commit.sha))
        elif (lie := _untrue(commit, changes, held, conflicts)) is not None:
            lies.append(lie)
        elif (unit := conflicts.get(changes[0])) is not None:
            found.append(Placed(commit, resolves=unit))
            lies += [
                Objection("wrong-job", f"{commit.sha} resolves a conflict of {batch}.{unit.job}, and names {job}")
                for job in jobs
                if job != f"{batch}.{unit.job}"
            ]
        elif set(changes) != set(machine[held[changes[0]]]):
            lies.append(Objection("mixed-changes", f"{commit.sha} has a part of the machine's {held[changes[0]]}"))
        else:
            found.append(Placed(commit, machine=held[changes[0]]))
    return found, [*lies, *_repeated(found)]


def _untrue(
    commit: BranchCommit, changes: Sequence[str], held: Mapping[str, str], conflicts: Mapping[str, Unit]
) -> Objection | None:
    if not changes:
        return Objection("unlabelled-commit", f"{commit.sha} names no change, and is none of the machine's")
    if invented := [change for change in changes if change not in held and change not in conflicts]:
        return Objection("invented-change", f"{commit.sha} names {invented[0]}, which nobody asked for")
    parts = {held.get(change) or f"a conflict of job {conflicts[change].job}" for change in changes}
    if len(parts) > 1:
        return Objection("mixed-changes", f"{commit.sha} is several in one: {', '.join(sorted(parts))}")
    return None


def _repeated(found: Sequence[Placed]) -> Iterator[Objection]:
    seen = set[str]()
    for each in found:
        what = each.machine or (f"the conflict of job {each.resolves.job}" if each.resolves else "")
        if what in seen:
            yield Objection("repeated-change", f"{each.commit.sha} is {what} once more")
        seen.add(what)


def dropped(
    found: Sequence[Placed], machine: Mapping[str, Collection[str]], aside: Sequence[Unit], failed: Mapping[str, str]
) -> Iterator[Objection]:
    """`failed`: changes that it gives up, with its reasons. What was verified and merged is not its to give up."""
    there = {each.machine for each in found}
    for sha, changes in machine.items():
        if sha not in there:
            reasons = [failed[change] for change in changes if failed.get(change)]
            why = f", and is given up: {reasons[0]}" if reasons else ""
            yield Objection("dropped-change", f"{sha}, which the machine has merged, is not there{why}")
    resolved = {each.resolves.job for each in found if each.resolves is not None}
    for unit in aside:
        if unit.job not in resolved and not any(failed.get(change.sha) for change in unit.changes):
            sha = unit.changes[0].sha
            yield Objection("dropped-change", f"the change {sha} is neither there nor said to have failed")


MAX_REASON = 300
MOST_RANKED = 10_000


def given_up(extra: Mapping[str, object]) -> dict[str, str]:
    """Changes that an integrator says it could not bring in, with its reasons. Its outcome is hostile."""
    said = extra.get("failed")
    entries = [entry for entry in said if isinstance(entry, dict)] if isinstance(said, list) else []
    reasons = {entry.get("change"): entry.get("reason") for entry in entries if _is_name(entry.get("change"))}
    return {
        str(change): " ".join(reason.split())[:MAX_REASON]
        for change, reason in reasons.items()
        if isinstance(reason, str)
    }


def ranked(extra: Mapping[str, object]) -> tuple[str, ...]:
    """The fixes as an integrator ranks them, best first; () where it does not say."""
    said = extra.get("ranking")
    named = said[:MOST_RANKED] if isinstance(said, list) else []
    return tuple(dict.fromkeys(str(each) for each in named if _is_name(each)))


def untrue(
    failed: Mapping[str, str], ranking: Sequence[str], conflicts: Collection[str], fixes: Collection[str]
) -> Iterator[str]:
    """What it says of things that it was not asked about."""
    for change in failed:
        if change not in conflicts:
            yield f"the integrator says that {_shown(change)} failed, which is in no conflict"
    for change in ranking:
        if change not in fixes:
            yield f"the integrator ranks {_shown(change)}, which is no fix of this branch"


def with_reasons(rows: Sequence[ChangeRow], reasons: Mapping[str, str]) -> tuple[ChangeRow, ...]:
    """Of what stays in conflict, also why it was given up."""
    return tuple(
        replace(row, detail="; ".join(filter(None, [row.detail, reasons.get(row.change.sha, "")])))
        if row.fate is Fate.CONFLICT
        else row
        for row in rows
    )


def _is_name(said: object) -> bool:
    return isinstance(said, str) and bool(said)


def _shown(said: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in said)[:50]
