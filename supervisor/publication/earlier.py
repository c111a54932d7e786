"""The work of an agent that was put away, as a patch for the next agent of its job.

It is the difference between the batch's base and the rescued files, without their history. It is hostile like all
that agents leave: its paths and links are checked like those of a publication, and files that programs and agents
read by name are left out. git applies it in the new agent's clone, and what that agent makes of it is published and
verified like any other work.
"""

from functools import partial
from pathlib import Path

from supervisor.adapters.git.process import Bounds, run
from supervisor.errors import GitFailed, Hostile
from supervisor.model.attempt import AttemptKey, ref_of
from supervisor.publication.bundle import BundleLimits
from supervisor.publication.importing import check_entries

#: an agent that left more has left data, not work on a test
MOST_BYTES = 16 * 2**20
LIMITS = BundleLimits(paths=2_000)
BOUNDS = Bounds()
#: files that the new agent's program would read as settings or instructions, and hidden files, which are no work
LEFT_OUT = ("**/.*", "**/.*/**", "**/CLAUDE.md", "**/CLAUDE.local.md", "**/AGENTS.md", "**/GEMINI.md")
PATHS = ("--", ":/", *(f":(exclude,top,glob,icase){pattern}" for pattern in LEFT_OUT))
AS_IT_IS = ("--no-renames", "--no-ext-diff", "--no-textconv", "--full-index")


async def patch_of(bare: Path, key: AttemptKey, base: str) -> bytes:
    """The patch of what was rescued of that attempt; b"": it changed no file. Raises Hostile, GitFailed."""
    read, ref = partial(_read, bare), f"{ref_of(key, rescued=True)}^{{commit}}"
    listed = await read("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", base, ref, *PATHS)
    become = await check_entries(listed.split(b"\0"), LIMITS, read)
    asked = "".join(f"{sha}\n" for sha in become).encode()
    sizes = (await read("cat-file", "--batch-check=%(objectsize)", stdin=asked)).split()
    if sum(map(int, sizes)) > MOST_BYTES:
        raise Hostile(f"what was rescued is larger than {MOST_BYTES} bytes", reason="too-large")
    return await read("diff", "--binary", *AS_IT_IS, base, ref, *PATHS)


async def _read(bare: Path, *args: str, stdin: bytes = b"") -> bytes:
    done = await run(bare, *args, stdin=stdin, bounds=BOUNDS)
    if done.code:
        raise GitFailed(done.sentence)
    return done.out
