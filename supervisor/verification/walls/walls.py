"""What an agent's program sees of this machine, and how much it may take: a list of mounts, and limits.

The list starts empty. It names the system's folders, the tool chain and what the profile allows (readable), and the
places of one run (writable). So everything else (homes, the daemon's state, its socket, other checkouts) is hidden
without being listed. `enclosing` mounts the list. Verifiers on other hosts get this module as well
(`remote/packing.py`).
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervisor import paths
from supervisor.verification.walls.toolchain import SYSTEM

Mount = tuple[str, str, str, str]

MEGABYTE = 2**20
#: root's programs run as this user on the host, who owns nothing there
NOBODY = 65534
#: no route leads there, so that a name lookup fails at once for want of a network
_NO_NAMES = "nameserver 192.0.2.1\n"
_RESOLVER = Path("/etc/resolv.conf")
#: kinds of mounts that may lie at a path of the host's
_PLACED = ("readable", "writable", "hidden", "closed", "tmpfs")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}


@dataclass(frozen=True, slots=True)
class Limits:
    #: bytes; 0: half of the machine's memory
    memory: int = 0
    #: threads count as well
    processes: int = 2048
    #: bytes
    disk: int = 8192 * MEGABYTE

    @property
    def memory_here(self) -> int:
        return self.memory or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


@dataclass(frozen=True, slots=True)
class Walls:
    #: mounted at /tmp and /var/tmp
    temporary: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    #: never visible, even inside a visible folder
    private: tuple[Path, ...] = ()
    #: a folder of the user's, and the folder that is shown in its place
    shown: tuple[Path, Path] | None = None
    #: made by the daemon for this run; everything in them belongs to the program
    fresh: tuple[Path, ...] = ()
    network: bool = False
    limits: Limits = Limits()
    #: more mounts, which replace others at the same place
    also: tuple[Mount, ...] = ()
    #: writable folders, each visible at another path
    moved: tuple[tuple[Path, Path], ...] = ()

    def plan(self, cwd: Path) -> dict[str, Any]:
        """The plan for the keeper. Blocking."""
        places = ["/tmp", *(str(each) for each in self.writable if each.is_dir())]
        places += [str(seen) for _, seen in self.moved]
        limits = {
            "memory": self.limits.memory_here,
            "processes": self.limits.processes,
            "disk": self.limits.disk,
            "places": places,
            "has_own_network": not self.network,
        }
        return {
            "network": self.network,
            "mounts": _needed(self._mounts()),
            "limits": limits,
            "outer": outer_user(),
            "cwd": str(cwd),
        }

    def _mounts(self) -> dict[str, Mount]:
        """By their place; a later mount replaces an earlier one."""
        mounts = [*_system(), *self._runtime(), *_resolver(self.network)]
        mounts += [("hidden", "", str(each), "mode=755,size=1m") for each in self.private if _is_there(each)]
        mounts += [("readable", str(each.resolve()), str(each), "") for each in self.readable if _is_there(each)]
        mounts += self._shown()
        mounts += [("writable", str(self.temporary), each, "") for each in ("/tmp", "/var/tmp")]
        mounts += [("writable", str(each.resolve()), str(each), "") for each in self.writable if _is_there(each)]
        mounts += [("writable", str(each.resolve()), str(seen), "") for each, seen in self.moved]
        return _where_links_lead({mount[2]: mount for mount in (*mounts, *self.also)})

    def _runtime(self) -> Iterator[Mount]:
        user, shared = outer_user(), self.limits.memory_here // 2
        yield "tmpfs", "", "/dev/shm", f"mode=1777,size={shared}"
        if (folder := os.environ.get("XDG_RUNTIME_DIR", "")).startswith("/"):
            yield "tmpfs", "", folder, f"mode=700,size=16m,uid={user}"

    def _shown(self) -> Iterator[Mount]:
        """The entries of the folder that contain no tool."""
        if self.shown is None or self.shown[0] in self.readable:
            return
        place, source = self.shown
        yield "closed", "", str(place), "mode=755,size=1m"
        with os.scandir(source) as entries:
            for each in entries:
                target = place / each.name
                holds_tools = any(tool.is_relative_to(target) for tool in self.readable)
                if each.name != ".git" and not each.is_symlink() and not holds_tools:
                    yield "readable", each.path, str(target), ""


def _is_there(place: Path) -> bool:
    """Whether we can see it; what we can't see is not shown to the program."""
    return os.access(place, os.F_OK)


def outer_user() -> int:
    """The user that the program runs as on the host."""
    user = os.getuid()
    return NOBODY if user == 0 and _is_mapped(NOBODY) else user


def give(place: Path) -> None:
    """Makes the user inside the walls the owner of a place and of everything in it. It goes through open folders, so
    one that is replaced by a link meanwhile leads nowhere. Blocking."""
    user = outer_user()
    if user == os.getuid():
        return
    os.chown(place, user, user, follow_symlinks=False)
    for _, folders, files, opened in os.fwalk(place) if place.is_dir() else ():
        for name in (*folders, *files):
            with suppress(FileNotFoundError):
                os.chown(name, user, user, dir_fd=opened, follow_symlinks=False)


def _is_mapped(user: int) -> bool:
    spans = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return any(first <= user < first + count for first, _, count in spans)


def own_places(state_dir: Path) -> tuple[Path, ...]:
    """Places of the daemon and of its user, and the folder of temporary files, which others use as well."""
    home = Path.home()
    credentials = paths.credentials_directory()
    found = (home, home / ".local", state_dir, paths.config_file().parent, paths.socket().parent, credentials)
    return (*(each for each in found if each is not None), Path(tempfile.gettempdir()))


def _system() -> Iterator[Mount]:
    for place in SYSTEM:
        if place.is_symlink():
            yield "link", str(place.readlink()), str(place), ""
        elif place.exists():
            yield "readable", str(place), str(place), ""
    yield "proc", "", "/proc", ""
    yield "closed", "", "/dev", "mode=755,size=64k"
    yield "devpts", "", "/dev/pts", "newinstance,ptmxmode=0666,mode=620"
    yield from (("device", f"/dev/{each}", f"/dev/{each}", "") for each in _DEVICES)
    yield from (("link", target, f"/dev/{name}", "") for name, target in _LINKS.items())
    yield "closed", "", "/run", "mode=755,size=1m"
    yield "link", "/run", "/var/run", ""


def _resolver(network: bool) -> Iterator[Mount]:
    real = _RESOLVER.resolve()
    if not network:
        yield "text", _NO_NAMES, str(real), ""
    elif real.exists():
        yield "readable", str(real), str(real), ""


def _is_as_on_host(mount: Mount) -> bool:
    """Whether its content is visible at the same path as on the host."""
    kind, source, place, _ = mount
    return kind == "readable" and source == place


def _where_links_lead(mounts: dict[str, Mount]) -> dict[str, Mount]:
    """A place that is a link, in a folder that is visible as on the host, is mounted where the link leads: nothing
    can be mounted on a link, and its target may not be there yet."""
    led: dict[str, Mount] = {}
    for place, mount in mounts.items():
        kind, source, _, options = mount
        around = next((mounts[each] for each in map(str, Path(place).parents) if each in mounts), None)
        is_seen = around is not None and _is_as_on_host(around)
        real = str(Path(place).resolve()) if is_seen and kind in _PLACED else place
        led[real] = (kind, source, real, options)
    return led


def _needed(mounts: dict[str, Mount]) -> list[Mount]:
    """Outer mounts first, without those whose content is visible already and those that hide nothing."""
    kept: list[Mount] = []
    around: list[Mount] = []
    for place in sorted(mounts, key=lambda each: each.split("/")):
        mount = mounts[place]
        while around and not f"{place}/".startswith(f"{around[-1][2]}/"):
            around.pop()
        is_seen = bool(around) and _is_as_on_host(around[-1])
        hides_nothing = mount[0] == "hidden" and not is_seen
        changes_nothing = _is_as_on_host(mount) and is_seen
        if not hides_nothing and not changes_nothing:
            kept.append(mount)
            around.append(mount)
    return kept
