"""The only way in for agents' commits: checked and kept under the attempt's own ref, or refused without a trace."""

from pathlib import Path

from anyio import CapacityLimiter

from supervisor.adapters.git.store import GitStore
from supervisor.model.attempt import AttemptKey, ref_of
from supervisor.publication.earlier import patch_of
from supervisor.publication.importing import Imported, Order, import_bundle, room_for
from supervisor.publication.taking import Taken, take
from supervisor.threads import in_thread

#: each may take two gigabytes, if a bundle is a bomb
IMPORTS_AT_ONCE = 2
RESCUES_AT_ONCE = 2


class Quarantine:
    """Raises Hostile if it refuses, GitFailed if git does not work."""

    def __init__(self, store: GitStore) -> None:
        self._store = store
        self._importing = CapacityLimiter(IMPORTS_AT_ONCE)
        #: a limit of its own: a large rescue takes minutes, and must delay no publication
        self._rescuing = CapacityLimiter(RESCUES_AT_ONCE)

    async def import_bundle(
        self, repo: Path, bundle: Path, key: AttemptKey, *, base: str, head: str = "", rescued: bool = False
    ) -> Imported:
        """Verify a bundle and import it under the attempt's own ref; Hostile, and no trace of it, otherwise."""
        order = Order(bundle, ref_of(key, rescued=rescued), base, head, rescued)
        async with self._importing:
            return await import_bundle(self._store.bare(repo), order)

    async def take(self, repo: Path, clone: Path, key: AttemptKey, *, base: str) -> Taken:
        """Import all work in an agent's clone, of any size, under the ref for rescued work."""
        async with self._rescuing:
            return await take(self._store.bare(repo), clone, ref_of(key, rescued=True), base)

    async def import_whole(self, repo: Path, bundle: Path, key: AttemptKey, *, base: str) -> Imported:
        """Like `take`, for a bundle that was made on the host of the clone."""
        async with self._rescuing:
            return await import_bundle(
                self._store.bare(repo), Order(bundle, ref_of(key, rescued=True), base, rescued=True, whole=True)
            )

    async def patch_of(self, repo: Path, key: AttemptKey, *, base: str) -> bytes:
        """What was rescued of an attempt, as a patch with which another one continues; b"": nothing."""
        return await patch_of(self._store.bare(repo), key, base)

    async def room(self, repo: Path) -> int:
        """The most bytes that a bundle may have: it is stored twice, as it arrived and as it is kept."""
        return (await in_thread(room_for, self._store.bare(repo))).size // 2
