"""What setups left, and where.

    caches/setups/<surroundings>/<site>/<files>/left       what a setup left, as it was in its home
                                               /made.z     what it depends on: `Made`

What a setup left contains its own path: the programs of an environment begin with it, editable installs point to it.
So it is laid only into a checkout with the same path. A trial takes a site that was used before, if it is free: the
trial that creates the site's folder owns it. A second trial at the same time gets another site, and its setup runs.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.adapters import packed
from supervisor.verification.setups.inputs import state_of

DAY = 86_400.0
#: installers may find something newer by then
MOST_DAYS = 7.0
MOST_BYTES = 8 * 2**30
#: an entry that has no `made.z` after this long was cut off
_CUT_OFF_SECONDS = 3600.0
LEFT, MADE = "left", "made.z"


@dataclass(frozen=True, slots=True)
class Site:
    """The names of a trial's folders: drawn at random, once."""

    folder: str
    home: str
    agent: str

    @classmethod
    def new(cls) -> "Site":
        return cls(os.urandom(6).hex(), os.urandom(4).hex(), f"agent-{os.urandom(16).hex()}")

    def __str__(self) -> str:
        return f"{self.folder}_{self.home}_{self.agent}"


@dataclass(frozen=True, slots=True)
class Made:
    at: float
    size: int
    #: the files and folders of the checkout that the setup opened, with their state at that time
    opened: Mapping[str, str] = field(default_factory=dict)
    #: the only commit for which it is valid; "": any with the same files
    commit: str = ""

    def stands_for(self, checkout: Path, commit: str) -> bool:
        """Blocking."""
        return self.commit in ("", commit) and all(
            state_of(checkout / path) == was for path, was in self.opened.items()
        )


def kept_at(state_dir: Path, surroundings: str, site: Site) -> Path | None:
    return folder_of(state_dir) / surroundings / str(site) if surroundings else None


def free_site(state_dir: Path, surroundings: str) -> Site:
    """A free site with a kept setup of this kind, else a new one. Creates its folder. It takes no time."""
    known = list((folder_of(state_dir) / surroundings).glob("*_*_*")) if surroundings else []
    for place in sorted(known, key=_last_used, reverse=True):
        site = Site(*place.name.split("_", 2))
        with suppress(FileExistsError):
            (state_dir / "hosts" / site.folder).mkdir(parents=True)
            return site
    site = Site.new()
    (state_dir / "hosts" / site.folder).mkdir(parents=True)
    return site


def folder_of(state_dir: Path) -> Path:
    return state_dir / "caches" / "setups"


def _last_used(folder: Path) -> float:
    return max((each.stat().st_mtime for each in (folder, *folder.iterdir())), default=0.0)


# --- what is kept for how long


@dataclass(frozen=True, slots=True)
class Kept:
    place: Path
    made: Made | None
    used: float


def stock(state_dir: Path) -> list[Kept]:
    """All that is kept. Blocking."""
    return list(_all(state_dir))


def _all(state_dir: Path) -> Iterator[Kept]:
    for place in folder_of(state_dir).glob("*/*_*_*/*"):
        with suppress(OSError):
            yield Kept(place, packed.read(place / MADE, Made), place.stat().st_mtime)


def prune(state_dir: Path, days: float = MOST_DAYS, most: int = MOST_BYTES) -> None:
    """Deletes what is too old, and, if there is too much, what was least recently used. Entries of a site that is in
    use stay. Blocking."""
    now, size = time.time(), 0
    for each in sorted(stock(state_dir), key=lambda each: -each.used):
        is_cut_off = each.made is None and now - each.used > _CUT_OFF_SECONDS
        is_old = each.made is not None and now - each.made.at > min(days, MOST_DAYS) * DAY
        size += each.made.size if each.made is not None and not is_old else 0
        is_used = (state_dir / "hosts" / each.place.parent.name.partition("_")[0]).exists()
        if (is_cut_off or is_old or size > most) and not is_used:
            size -= each.made.size if each.made is not None and not is_old else 0
            shutil.rmtree(each.place, ignore_errors=True)
            for folder in (each.place.parent, each.place.parent.parent):
                with suppress(OSError):
                    folder.rmdir()
