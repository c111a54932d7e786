"""Whether a branch that an integrator made may replace the mechanical one. Each objection has a name."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from supervisor.flow.integration.messages import trailers_in

#: subjects of commits that an integrator makes of its own
OWN_KINDS = frozenset({"NORMALIZE", "CHANGELOG"})

type Reason = Literal[
    "not-on-base",  # its first commit doesn't stand on the batch's base
    "not-linear",  # a merge, or a commit that doesn't stand on the one before
    "dropped-change",  # a qualifying change is neither there nor said to have failed
    "invented-change",  # a trailer names a change that no job made
    "unlabelled-commit",  # neither trailers nor one of the integrator's own kinds
    "forbidden-path",
]


@dataclass(frozen=True, slots=True)
class BranchCommit:
    sha: str
    parents: tuple[str, ...]
    message: str
    kind: str
    paths: tuple[str, ...]

    @property
    def changes(self) -> tuple[str, ...]:
        return trailers_in(self.message)[1]


@dataclass(frozen=True, slots=True)
class Objection:
    reason: Reason
    detail: str


def objections(
    base: str,
    commits: Sequence[BranchCommit],
    qualifying: Iterable[str],
    failed: Mapping[str, str],
    is_allowed: Callable[[str], bool],
) -> tuple[Objection, ...]:
    """`commits` from the base on; `qualifying` changes; `failed`: those given up, with the integrator's reason."""
    wanted = set(qualifying)
    return (
        *_shape(base, commits),
        *_accounts(commits, wanted, failed),
        *(
            Objection("forbidden-path", f"{commit.sha} touches {path}")
            for commit in commits
            for path in commit.paths
            if not is_allowed(path)
        ),
    )


def _shape(base: str, commits: Sequence[BranchCommit]) -> Iterator[Objection]:
    before = base
    for commit in commits:
        if commit.parents != (before,):
            straight = before == base and len(commit.parents) < 2
            yield Objection("not-on-base" if straight else "not-linear", f"{commit.sha} does not stand on {before}")
            return
        before = commit.sha


def _accounts(commits: Sequence[BranchCommit], wanted: set[str], failed: Mapping[str, str]) -> Iterator[Objection]:
    for commit in commits:
        if not commit.changes and commit.kind not in OWN_KINDS:
            yield Objection(
                "unlabelled-commit", f"{commit.sha} names no change, and is no {' or '.join(sorted(OWN_KINDS))}"
            )
    named = {change for commit in commits for change in commit.changes}
    for change in sorted(named - wanted):
        yield Objection("invented-change", f"no job made the change {change}")
    for change in sorted(wanted - named):
        if not failed.get(change):
            yield Objection("dropped-change", f"the change {change} is neither there nor said to have failed")
