"""One setup of one checkout: lays a kept result there, or runs the setup, and keeps what others may use.

Theory of operation. A result kept from one checkout is valid for another if the files that decide are the same
(`inputs`), and so is everything that the setup was seen to open (`opened`). A copy of a package in an environment, a
compiled program, a generated module: each was made by opening its sources, and is valid for no others. If a profile
names the files that decide with `setup_inputs`, it is believed.

Only what a setup left on a base is kept, and only if it ran inside walls: what an agent's tree left could change what
others are tested with, and only walls keep a trial from writing here. A setup that changes what was in the checkout,
or leaves nothing there and in HOME, runs each time.
"""

import os
import stat
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from supervisor.adapters import packed
from supervisor.adapters.disk import size_of
from supervisor.adapters.git.checkouts import discard, overlay
from supervisor.errors import GitFailed
from supervisor.threads import at_length, in_thread
from supervisor.verification.setups.inputs import LOCKS, files_of, state_of
from supervisor.verification.setups.kept import DAY, LEFT, MADE, MOST_DAYS, Made
from supervisor.verification.setups.opened import GIT, Opened, opening

log = structlog.get_logger()

#: a result in more places than this is not worth copying
MOST_ROOTS = 1000
CACHE = ".cache"
_COMPILED = ("__pycache__", ".pyc", ".pyo")


@dataclass(frozen=True, slots=True)
class Preparation:
    #: where the results for this site are kept
    kept: Path
    home: Path
    checkout: Path
    commit: str
    #: from the profile; None: lock files, and whatever is opened
    inputs: tuple[str, ...] | None

    async def is_laid(self) -> bool:
        """Whether a kept result is valid for this setup, and is laid there now. Raises GitFailed."""
        place = await in_thread(self._place)
        made = await in_thread(packed.read, place / MADE, Made)
        if made is None or time.time() - made.at > MOST_DAYS * DAY:
            return False
        if self.inputs is None and not await in_thread(made.stands_for, self.checkout, self.commit):
            return False
        try:
            await overlay(place / LEFT, self.home, await in_thread(os.listdir, place / LEFT))
        except (GitFailed, OSError) as error:
            await discard(place)  # the next checkout is set up again
            raise GitFailed(f"what a setup left can't be laid: {error}") from error
        with suppress(OSError):
            await in_thread(os.utime, place)
        return True

    async def run(self, set_up: Callable[[], Awaitable[None]]) -> None:
        """Runs the setup, and keeps what it left."""
        place, before = await in_thread(self._place), await in_thread(lambda: dict(_found(self.home, self.checkout)))
        folders = await in_thread(lambda: {each: state_of(self.checkout / each) for each in self._folders(before)})
        async with opening(self.checkout) as opened:
            await set_up()
        roots = await in_thread(self._left, before)
        if not roots:
            return
        try:
            await self._keep(place, roots, lambda: self._opened(opened, before, folders), opened)
        except (GitFailed, OSError, UnicodeEncodeError) as error:
            log.warning("can't keep what a setup left", why=str(error))

    def _place(self) -> Path:
        return self.kept / files_of(self.checkout, LOCKS if self.inputs is None else self.inputs)

    async def _keep(
        self, place: Path, roots: list[str], states: Callable[[], dict[str, str]], opened: Opened
    ) -> None:
        partial = place.with_name(f"{place.name}-{os.urandom(4).hex()}")
        try:
            (partial / LEFT).mkdir(parents=True)
            await overlay(self.home, partial / LEFT, roots)
            size, _ = await at_length(size_of, partial)
            is_for_all = not opened.has_history and not opened.is_partial
            made = Made(time.time(), size, await in_thread(states), "" if is_for_all else self.commit)
            await in_thread(packed.write, partial / MADE, made)
            await discard(place)
            await in_thread(partial.rename, place)
        finally:
            await discard(partial)

    def _opened(self, opened: Opened, before: dict[str, object], folders: dict[str, str]) -> dict[str, str]:
        """The earlier state of what was opened and was there before."""
        inside = self.checkout.relative_to(self.home)
        files = {each for each in opened.paths if str(inside / each) in before and each not in folders}
        found = {each: state_of(self.checkout / each) for each in files}
        return found | {each: folders[each] for each in opened.paths if each in folders}

    def _folders(self, before: dict[str, object]) -> Iterator[str]:
        yield "."
        inside = self.checkout.relative_to(self.home)
        for path, state in before.items():
            if state is None and Path(path).is_relative_to(inside):
                yield str(Path(path).relative_to(inside))

    def _left(self, before: dict[str, object]) -> list[str] | None:
        """The topmost paths in the home that it made; None: it changed something else, or made too many."""
        after = dict(_found(self.home, self.checkout))
        if any(after.get(path, False) != state for path, state in before.items()):
            return None
        new = after.keys() - before.keys()
        roots = [path for path in sorted(new) if os.path.dirname(path) not in new]  # noqa: PTH120
        roots = [path for path in roots if not path.endswith(_COMPILED)]
        inside = str(self.checkout.relative_to(self.home))
        hidden = inside.partition("/")[0]
        if any(path.startswith(f"{hidden}/") and not path.startswith(f"{inside}/") for path in roots):
            return None
        roots += [CACHE] if (self.home / CACHE).is_dir() else []
        return roots if len(roots) <= MOST_ROOTS else None


def _found(home: Path, checkout: Path) -> Iterator[tuple[str, object]]:
    """The state of each file, and None for each folder, except caches and the repository itself."""
    for place, folders, files in os.walk(home):
        inside = Path(place)
        skipped = {GIT} if inside == checkout else {CACHE} if inside == home else set[str]()
        folders[:] = [each for each in folders if each not in skipped]
        for name in (*files, *folders):
            found = (inside / name).lstat()
            is_folder = stat.S_ISDIR(found.st_mode)
            state = None if is_folder else (found.st_ctime_ns, found.st_size, found.st_ino)
            yield str((inside / name).relative_to(home)), state
