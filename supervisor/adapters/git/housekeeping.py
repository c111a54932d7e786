"""What a bare repository of ours holds of each batch, and how it gets rid of it."""

import re
from collections.abc import Iterable
from pathlib import Path

from supervisor.adapters.git.process import git, run

FOLDER = "refs/supervisor/"
#: above this many packs a repository is packed anew
MANY_PACKS = 20
MAINTAIN_SECONDS = 1800.0

_SHA = re.compile(r"[0-9a-f]{40}")


async def refs_by_batch(bare: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for ref in (await git(bare, "for-each-ref", "--format=%(refname)", FOLDER)).decode(errors="replace").split():
        found.setdefault(ref.removeprefix(FOLDER).partition("/")[0], []).append(ref)
    return found


async def drop(bare: Path, refs: Iterable[str]) -> None:
    """All of them or none. What they held goes with a later `maintain`."""
    await git(bare, "update-ref", "--stdin", stdin="".join(f"delete {ref}\n" for ref in refs).encode())


async def holds(bare: Path, batch: str, sha: str) -> bool:
    """Whether a commit is in some ref of the batch, with all that it stands on."""
    if not _SHA.fullmatch(sha):
        return False
    missing = await run(bare, "rev-list", "-n", "1", sha, "--not", f"--glob={FOLDER}{batch}/*")
    return missing.code == 0 and not missing.out.strip()


async def trees(bare: Path, batch: str) -> frozenset[str]:
    """Of the last commits of the batch's refs."""
    return frozenset((await git(bare, "for-each-ref", "--format=%(tree)", f"{FOLDER}{batch}/")).decode().split())


async def maintain(bare: Path) -> None:
    """Pack what has come in, and drop what no ref reaches and is older than two weeks."""
    await git(bare, "gc", "-q", "--prune=2.weeks.ago", timeout=MAINTAIN_SECONDS)


def has_many_packs(bare: Path) -> bool:
    return len(list(bare.glob("objects/pack/*.pack"))) > MANY_PACKS
