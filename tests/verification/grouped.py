"""Claims of known kinds, and the edits of them, that are verified together."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pygit2

from supervisor.adapters.git.store import GitStore
from supervisor.model.verdict import Verdict
from supervisor.ports import PutBack
from tests.verification.generated import AUTHOR, PROFILE, TRUTH, Claim, Generated, files_of, generate
from tests.verification.settling import Settled, judge_of, settle


async def settled(folder: Path, claims: list[Claim], files: int, **profile: object) -> tuple[Generated, Settled]:
    made = await generate(folder, claims, files, profile=replace(PROFILE, **profile))  # type: ignore[arg-type]
    return made, await settle(await judge_of(folder), made)


def check(made: Generated, found: Settled) -> None:
    wrong = {
        claim.number: (claim.kind, found.verdicts[claim.number].verification, found.verdicts[claim.number].reason)
        for claim in made.claims
        if found.verdicts[claim.number].verification not in TRUTH[claim.kind]
    }
    assert not wrong


def of_kinds(*kinds: str, files: int = 0) -> list[Claim]:
    """Each in a file of its own, or spread over so many."""
    return [Claim(number, kind, number % (files or len(kinds)), number) for number, kind in enumerate(kinds, 1)]


def also(made: Generated, job: int, path: str, text: str) -> None:
    """The work of a job, and one file more."""
    rework(made, job, path, text, made.jobs[job - 1].brought.head)


def rework(made: Generated, job: int, path: str, text: str, upon: str) -> None:
    bare = pygit2.Repository(str(GitStore(made.repo.parent / "state").bare(made.repo)))
    index, parent = pygit2.Index(), bare[upon]
    index.read_tree(parent.peel(pygit2.Tree))
    index.add(pygit2.IndexEntry(path, bare.create_blob(text.encode()), pygit2.enums.FileMode.BLOB))
    head = bare.create_commit(None, AUTHOR, AUTHOR, "[IMPROVE_TEST] x", index.write_tree(bare), [parent.id])
    old = made.jobs[job - 1]
    made.jobs[job - 1] = replace(old, brought=replace(old.brought, head=str(head)))


async def together(
    folder: Path, claims: list[Claim], *works: tuple[int, str, str], setup: str = ""
) -> dict[int, Verdict | PutBack]:
    profile = replace(PROFILE, evidence_factor=0, test_timeout_seconds=5, setup=setup)
    made = await generate(folder, claims, len(claims), profile=profile)
    for job, path, text in works:
        rework(made, job, path, text, made.batch.base)
    return dict(await (await judge_of(folder)).verify_together(made.batch, made.jobs))


def edited(job: int, count: int, more: str, *, at_the_end: str = "") -> tuple[int, str, str]:
    """The file of its test, which does this, too."""
    text = files_of(of_kinds(*["improved"] * count), count)[f"tests/test_{job}.py"]
    checked = "    assert result > 0\n"
    assert checked in text
    return job, f"tests/test_{job}.py", text.replace(checked, f"    assert result == 6\n    {more}\n", 1) + at_the_end


def said(found: Mapping[int, Verdict | PutBack]) -> dict[int, str]:
    return {
        number: "put back" if isinstance(each, PutBack) else each.verification
        for number, each in sorted(found.items())
    }


def ran_alone(verdict: Verdict) -> bool:
    """Whether it had runs of its own: as a suspect, or because it was drawn."""
    return verdict.evidence is not None and verdict.evidence.alone is not None
