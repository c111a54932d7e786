"""Finds what the tool chain needs besides the system's own folders: by following references, never by guessing.

From PATH and the program that runs pytest, it follows links to their targets, a virtual environment to its base
Python and to the folders that its `.pth` files name, and a folder of programs to the folder with their libraries. A
folder that holds more than tools (a home, the daemon's state) is not taken as a whole.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

#: whatever lies in these is visible anyway
SYSTEM = tuple(
    Path(each)
    for each in (
        *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix"),
        *("/var/cache/fontconfig", "/var/lib/ca-certificates"),
        *("/sys/block", "/sys/bus", "/sys/class", "/sys/dev", "/sys/devices"),
    )
)
_LARGEST_PTH = 2**16
_LONGEST_CHAIN = 40


def tools(
    path: str, programs: Collection[str], named: Collection[Path], private: Collection[Path], repo: Path
) -> frozenset[Path]:
    """Blocking. `named`: what else is needed. `private`: folders that are never taken as a whole, nor any folder
    around them. `repo`: the user's checkout, in which only environments are tools."""
    folders = tuple(dict.fromkeys(Path(each) for each in path.split(os.pathsep) if each.startswith("/")))
    stamps = tuple(_stamp(each) for each in folders)
    search = _Search(private, repo)
    for place in named:
        search.take(place)
    return _found(folders, stamps, tuple(programs), frozenset(private), repo) | search.found


def _stamp(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=16)
def _found(
    folders: tuple[Path, ...],
    stamps: tuple[int, ...],
    programs: tuple[str, ...],
    private: frozenset[Path],
    repo: Path,
) -> frozenset[Path]:
    search = _Search(private, repo)
    for folder, stamp in zip(folders, stamps, strict=True):
        if stamp and not is_below(folder, SYSTEM):
            with suppress(OSError):  # what we can't read, the program can't use
                search.folder(folder)
                search.links(folder)
    for program in programs:
        places = [Path(program)] if program.startswith("/") else [each / program for each in folders]
        if "/" not in program or program.startswith("/"):
            with suppress(OSError):
                search.file(next((each for each in places if os.access(each, os.X_OK)), None))
    return frozenset(search.found)


class _Search:
    def __init__(self, private: Collection[Path], repo: Path) -> None:
        self.found: set[Path] = set()
        self._private, self._repo = private, repo

    def folder(self, folder: Path) -> None:
        """Takes a folder of programs, and what belongs to them."""
        self.take(folder)
        above = folder.parent
        if (above / "pyvenv.cfg").is_file():
            self._environment(above)
        elif folder.name == "shims" or (folder.name in ("bin", "sbin") and (above / "lib").is_dir()):
            self.take(above)

    def links(self, folder: Path) -> None:
        with os.scandir(folder) as entries:
            links = [Path(each.path) for each in entries if each.is_symlink()]
        for link in links:
            with suppress(OSError):
                self.file(link)

    def file(self, file: Path | None) -> None:
        """Takes a program, and each link on the way to its real file."""
        for _ in range(_LONGEST_CHAIN):
            if file is None or is_below(file, SYSTEM):
                return
            if file.parent not in self.found:
                self.folder(file.parent)
            self.take(file.resolve())
            file = Path(os.path.normpath(file.parent.resolve() / file.readlink())) if file.is_symlink() else None

    def _environment(self, folder: Path) -> None:
        if folder in self.found:
            return
        self.take(folder)
        for line in _lines(folder / "pyvenv.cfg"):
            name, _, value = line.partition("=")
            if name.strip() == "home" and value.strip().startswith("/"):
                self.folder(Path(value.strip()))
        for file in folder.glob("lib/python3*/site-packages/*.pth"):
            for line in _lines(file):
                if (
                    line.startswith("/")
                    and Path(line).is_dir()
                    and not Path(line).resolve().is_relative_to(self._repo)
                ):
                    self.take(Path(line))

    def take(self, place: Path) -> None:
        if not os.access(place, os.F_OK) or is_below(place, SYSTEM):
            return
        if not any(each.is_relative_to(place) for each in self._private):
            self.found |= {place, place.resolve()}


def is_below(place: Path, folders: Collection[Path]) -> bool:
    return any(place.is_relative_to(each) for each in folders)


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open("rb") as opened:
            yield from (line.strip() for line in opened.read(_LARGEST_PTH).decode(errors="replace").splitlines())
    except OSError:
        return
