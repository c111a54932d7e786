"""Copies files from an agent's host. An agent made them, so links, devices and huge files are refused."""

import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

from supervisor.adapters.mngr.dialects import Dialect
from supervisor.adapters.mngr.settings import MngrSettings
from supervisor.errors import MngrFailed
from supervisor.threads import in_thread, surely


def pull_argv(dialect: Dialect, agent: str, remote: str, landing: Path, settings: MngrSettings) -> tuple[str, ...]:
    if dialect.copy == "pull":
        directory = remote if remote.endswith("/") else str(PurePosixPath(remote).parent)
        return ("pull", f"{agent}:{directory}", str(landing), "--sync-mode", "files")
    bounds = ("--no-links", "--no-D", f"--max-size={settings.max_pulled_file_bytes}")
    source = (f"{agent}:{remote}", f"{landing}/")
    return ("rsync", *source, "--uncommitted-changes", "clobber", "--format", "jsonl", "--", *bounds)


@contextlib.asynccontextmanager
async def settled(remote: str, local: Path) -> AsyncIterator[Path]:
    """The directory to copy into. mngr copies only into directories: a single file first lands beside its target."""
    if remote.endswith("/"):
        await in_thread(local.mkdir, parents=True, exist_ok=True)
        yield local
        return
    await in_thread(local.parent.mkdir, parents=True, exist_ok=True)
    landing = Path(await in_thread(tempfile.mkdtemp, dir=local.parent, prefix=".pull-"))
    try:
        yield landing
        await in_thread(_move, landing / PurePosixPath(remote).name, local)
    finally:
        await surely(shutil.rmtree, landing, ignore_errors=True)


def _move(landed: Path, local: Path) -> None:
    if landed.is_symlink() or not landed.is_file():
        raise MngrFailed(f"{landed.name} is no file, or too large to be copied.", reason="refused")
    landed.replace(local)
