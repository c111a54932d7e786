"""The place of one run of a program that an agent wrote: its checkout, environment and walls."""

import os
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters.git.checkouts import discard
from supervisor.verification.tracing.traced import Trace
from supervisor.verification.trials.asking import Unready
from supervisor.verification.trials.running import Ear, Ended, Unwalled, run
from supervisor.verification.walls.walls import Walls


@dataclass(frozen=True, slots=True)
class Stage:
    """The place of one run."""

    #: as the run sees it, and where it is
    checkout: Path
    copy: Path
    env: Mapping[str, str]
    #: kept until the trial ends
    folder: Path
    walls: Walls | None = None


async def run_in(
    stage: Stage,
    argv: Sequence[str],
    timeout: float,
    ear: Ear | None = None,
    cwd: Path | None = None,
    *,
    trace: Trace | None = None,
) -> Ended:
    try:
        where = cwd or stage.checkout
        return await run(argv, cwd=where, env=stage.env, timeout=timeout, walls=stage.walls, ear=ear, trace=trace)
    except Unwalled as unwalled:
        raise Unready(f"the walls around it can't be built: {unwalled}") from None


@asynccontextmanager
async def temporary_folder(folder: Path) -> AsyncIterator[tuple[Path, Path]]:
    """A folder with a short path, because it may hold a socket, whose path is limited; and the folder that is mounted
    at /tmp inside walls."""
    made = Path(tempfile.gettempdir()) / os.urandom(5).hex()
    standing = folder / f"tmp-{made.name}"
    link = folder / f"temporary-{made.name}"  # by this, the next daemon finds what a killed one left
    link.symlink_to(made)
    made.mkdir(mode=0o700)
    standing.mkdir()
    standing.chmod(0o1777)
    try:
        yield made, standing
    finally:
        await discard(standing)
        await discard(made)
        link.unlink(missing_ok=True)
