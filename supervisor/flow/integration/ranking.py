"""Which changes qualify, which of them are the same, and in which order they are picked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from supervisor.flow.integration.work import IMPLEMENTATION, Change, Group, Work


@dataclass(frozen=True, slots=True)
class Plan:
    #: to be squashed into one commit
    tests: tuple[Group, ...]
    #: each a commit of its own, the most useful first
    fixes: tuple[Group, ...]
    #: why a change was left out, by its commit
    rejected: dict[str, str]


def planned(works: Iterable[Work]) -> Plan:
    """The same plan for the same works, in whatever order they come."""
    rejected: dict[str, str] = {}
    qualifying: list[Change] = []
    for work in sorted(works, key=lambda work: work.job):
        for change in work.changes:
            if why := rejection(work, change):
                rejected[change.sha] = why
            else:
                qualifying.append(change)
    groups = grouped(qualifying)
    tests = tuple(group for group in groups if group.leader.is_test)
    fixes = sorted((group for group in groups if not group.leader.is_test), key=_rank)
    return Plan(tests, tuple(fixes), rejected)


def rejection(work: Work, change: Change) -> str:
    """Why this change may not go in; "" if it may."""
    if work.rejected:
        return work.rejected
    if work.errored:
        return "its agent says that it ended in an error"
    if work.passing_before and work.passing_after is False:
        return "its test passed before and fails after it"
    if change.kind in work.failed_kinds:
        return "its agent says that it failed"
    return ""


def grouped(changes: Sequence[Change]) -> tuple[Group, ...]:
    """Changes with the same patch are one, whoever made them, as long as they end up in the same place."""
    groups: dict[tuple[bool, str], list[Change]] = {}
    for change in changes:
        groups.setdefault((change.is_test, change.patch_id), []).append(change)
    return tuple(Group(tuple(group)) for group in groups.values())


def _rank(group: Group) -> tuple[bool, int, int, int]:
    """Labelled fixes first; then those that fix the most tests; then those that touch the least; then by job."""
    leader = group.leader
    return (leader.kind != IMPLEMENTATION, -len(group.jobs), len(leader.paths), leader.job)
