"""Keeps the caches that a setup on a base commit left in HOME, so that the next setup is quick.

A setup runs code of the checkout, so caches from an agent's work are not kept: they could change what others install.
A base is the user's own code; its caches are copied to the home of every trial with the same setup.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from supervisor.adapters.git.checkouts import copy_tree, discard
from supervisor.model.batch import Batch
from supervisor.threads import in_thread

_CACHE = ".cache"
#: caches that only installers need: no run gets a copy
_INSTALLERS = ("uv", "pip")


class Caches:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def give(self, batch: Batch, home: Path) -> None:
        kept = self._kept(batch)
        if await in_thread(kept.is_dir):
            await copy_tree(kept, home / _CACHE)

    async def keep(self, batch: Batch, home: Path) -> None:
        """Keeps the caches of a setup that ran on the base."""
        made, kept = home / _CACHE, self._kept(batch)
        if await in_thread(made.is_dir):
            partial = kept.with_name(f"{kept.name}-{os.urandom(4).hex()}")
            try:
                await in_thread(self._folder.mkdir, parents=True, exist_ok=True)
                await copy_tree(made, partial)
                await discard(kept)
                with suppress(OSError):  # another trial was quicker
                    await in_thread(partial.rename, kept)
            finally:
                await discard(partial)

    async def clear(self, home: Path) -> None:
        for name in _INSTALLERS:
            await discard(home / _CACHE / name)

    def _kept(self, batch: Batch) -> Path:
        of = f"{batch.repo}\0{batch.profile.setup}"
        return self._folder / hashlib.sha256(of.encode(errors="surrogateescape")).hexdigest()[:16]
