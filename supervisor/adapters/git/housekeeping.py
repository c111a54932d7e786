"""What a bare repository of ours holds of each batch, and how it is cleaned up."""

import re
from collections.abc import Iterable
from pathlib import Path

from supervisor.adapters.git.process import git, run

FOLDER = "refs/supervisor/"
#: a repository with more packs than this is repacked
MANY_PACKS = 20
MAINTAIN_SECONDS = 1800.0

_SHA = re.compile(r"[0-9a-f]{40}")


async def refs_by_batch(bare: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for ref in (await git(bare, "for-each-ref", "--format=%(refname)", FOLDER)).decode(errors="replace").split():
        found.setdefault(ref.removeprefix(FOLDER).partition("/")[0], []).append(ref)
    return found


async def drop(bare: Path, refs: Iterable[str]) -> None:
    """Delete all of these refs or none. A later `maintain` deletes their objects."""
    await git(bare, "update-ref", "--stdin", stdin="".join(f"delete {ref}\n" for ref in refs).encode())


async def holds(bare: Path, batch: str, sha: str) -> bool:
    """Whether a commit and its ancestors are reachable from refs of the batch."""
    if not _SHA.fullmatch(sha):
        return False
    missing = await run(bare, "rev-list", "-n", "1", sha, "--not", f"--glob={FOLDER}{batch}/*")
    return missing.code == 0 and not missing.out.strip()


async def trees(bare: Path, batch: str) -> frozenset[str]:
    """The trees of the commits at the batch's refs."""
    return frozenset((await git(bare, "for-each-ref", "--format=%(tree)", f"{FOLDER}{batch}/")).decode().split())


async def maintain(bare: Path) -> None:
    """Pack new objects, and drop unreachable ones that are older than two weeks."""
    await git(bare, "gc", "-q", "--prune=2.weeks.ago", timeout=MAINTAIN_SECONDS)


def has_many_packs(bare: Path) -> bool:
    return len(list(bare.glob("objects/pack/*.pack"))) > MANY_PACKS
