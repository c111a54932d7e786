"""Commits with their patches, to show to a person. They are agents' work, so everything is bounded."""

import re
from pathlib import Path

from supervisor.adapters.git.process import Bounds, run
from supervisor.errors import GitFailed
from supervisor.ports import Commit
from supervisor.threads import in_thread

MOST_COMMITS, MOST_TITLES = 200, 10_000
#: of one commit, and of all together
MOST_PATCH, MOST_TEXT = 60_000, 2_000_000
_SHA = re.compile(r"[0-9a-f]{40}")
_FORMAT = "%x00%H%x00%s%x00%b%x00"


async def commits(bare: Path, base: str, head: str) -> list[Commit]:
    """The commits between two commits, oldest first. Raises GitFailed."""
    shown = ("-p", "--no-ext-diff", "--no-textconv", "--no-color", "--first-parent", "--diff-merges=first-parent")
    return _parsed(await _log(bare, base, head, f"--max-count={MOST_COMMITS}", f"--format={_FORMAT}", *shown))


async def titles(bare: Path, base: str, head: str) -> list[tuple[str, str]]:
    """The ids and subjects of the commits between two commits, oldest first. Raises GitFailed."""
    text = await _log(bare, base, head, f"--max-count={MOST_TITLES}", "--format=%H%x00%s%x00", "--first-parent")
    parts = text.split("\0")
    return [(sha.strip(), subject) for sha, subject in zip(parts[::2], parts[1::2], strict=False)]


async def _log(bare: Path, base: str, head: str, *how: str) -> str:
    if not (_SHA.fullmatch(base) and _SHA.fullmatch(head)):
        raise GitFailed("the work has no commits that can be shown")
    if not await in_thread(bare.is_dir):
        raise GitFailed("the daemon has no copy of this repository")
    asked = ("log", "--reverse", *how, f"{base}..{head}", "--")
    done = await run(bare, *asked, timeout=20, bounds=Bounds(cpu_seconds=10))
    if done.code:
        raise GitFailed(done.sentence)
    return done.out[:MOST_TEXT].decode(errors="replace")


def _parsed(text: str) -> list[Commit]:
    """Parse four parts for each commit. A part that should be a commit id but is not ends the list: it belongs to the
    patch before it."""
    found: list[Commit] = []
    parts = text.split("\0")[1:]
    while len(parts) >= 4:
        sha, subject, body, patch, *parts = parts
        if not _SHA.fullmatch(sha):
            break
        patch = patch.strip("\n")
        found.append(Commit(sha, subject, body.strip(), patch[:MOST_PATCH], len(patch) > MOST_PATCH))
    return found
