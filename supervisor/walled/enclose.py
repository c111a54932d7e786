"""Starts a program inside of an agent's walls: `python -I -m supervisor.walled.enclose ARGV`.

mngr calls it in the agent's pane. It reads the daemon's request from the agent's state directory, looks for the
tool chain, plans the walls, and becomes the keeper, which imports nothing of ours and needs little memory.

Files of the agent's state directory that mngr runs or trusts are read-only inside. Each is directly in that folder:
the folder is a mount of its own, which can't be moved, and neither can a file that is mounted in it.
"""

import __future__

import json
import marshal
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervisor.verification.walls.toolchain import tools
from supervisor.verification.walls.walls import Limits, Mount, Walls, give, outer_user

#: in the agent's state directory: the daemon's request
ASKED = "walls.json"
#: what mngr sources, runs or trusts there
_BELIEVED = ("env", "data.json", "launch_agent.sh", "commands", ASKED)
#: where its HOME and TMPDIR are kept, invisible to it at this place; and where it finds them. Nothing of mngr's is
#: below that, because the right to create links in a folder holds for all below it
_OWN = "walled"
_HOME, _TEMPORARY = Path("/agent/home"), Path("/agent/tmp")
_LEFT_OUT = ("TMUX", "TMUX_PANE")
_PACKAGE = Path(__file__).parent
_TEXTS = tuple(
    _PACKAGE.parent / f"{name}.py"
    for name in (
        *("verification/walls/enclosing", "verification/walls/watching", "verification/trials/ending"),
        *("walled/confining", "walled/living"),
    )
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The daemon's request, as JSON. All are paths except the last four."""

    #: never visible, even if a folder around it is
    private: list[str]
    #: paths that the agent and its environment name
    named: list[str]
    read: list[str]
    write: list[str]
    repo: str
    #: the file of its login, below HOME; "": none
    login: str
    programs: list[str]
    #: bytes; 0: no limit
    memory: int
    processes: int


@dataclass(frozen=True, slots=True)
class Places:
    """The paths that mngr tells its agents."""

    home: Path
    host: Path
    state: Path
    clone: Path

    @classmethod
    def told(cls, env: Mapping[str, str]) -> "Places":
        names = ("HOME", "MNGR_HOST_DIR", "MNGR_AGENT_STATE_DIR", "MNGR_AGENT_WORK_DIR")
        return cls(*(Path(env[name]) for name in names))

    @property
    def temporary(self) -> Path:
        return self.state / _OWN / "tmp"

    @property
    def standing(self) -> Path:
        """Mounted at /tmp and /var/tmp."""
        return self.state / _OWN / "standing"

    @property
    def own_home(self) -> Path:
        return self.state / _OWN / "home"

    @property
    def believed(self) -> list[Path]:
        return [self.state / each for each in _BELIEVED if (self.state / each).exists()]


def main() -> None:
    places = Places.told(os.environ)
    asked = Asked(**json.loads((places.state / ASKED).read_text()))
    _furnish(places, asked)
    plan = _plan(places, asked, sys.argv[1:])
    os.chdir("/")
    _become_keeper(plan, sys.argv[1:], _environment())


def _furnish(places: Places, asked: Asked) -> None:
    """Create its own folders; if it will run as another user, give that user what it works on."""
    folders = [places.standing, places.temporary, places.own_home]
    if asked.login:
        folders.append((places.own_home / asked.login).parent)
    for each in folders:
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    if outer_user() == os.getuid():
        return
    for each in (places.clone, *(each for each in places.state.iterdir() if each not in places.believed)):
        give(each)
    os.chown(places.state, outer_user(), -1)
    if (login := _login(places, asked)) is not None:
        os.chown(login, outer_user(), -1)


def _login(places: Places, asked: Asked) -> Path | None:
    login = places.home / asked.login
    return login if asked.login and login.is_file() else None


def _plan(places: Places, asked: Asked, argv: Sequence[str]) -> dict[str, Any]:
    path, private = os.environ.get("PATH", os.defpath), [Path(each) for each in asked.private]
    named = [Path(each) for each in (*asked.named, *argv) if each.startswith("/")]
    found = tools(path, (argv[0], *asked.programs), named, private, Path(asked.repo))
    write = tuple(Path(each) for each in asked.write)
    all_memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    walls = Walls(
        places.standing,
        (*write, places.clone, places.state),
        (*sorted(found), *map(Path, asked.read)),
        tuple(private),
        network=True,
        limits=Limits(asked.memory or all_memory, asked.processes),
        moved=((places.own_home, _HOME), (places.temporary, _TEMPORARY)),
        also=tuple(_more(places, asked)),
    )
    plan = walls.plan(places.clone)
    plan["limits"]["places"] = []  # its disk is not limited
    return plan | {"free": [str(each) for each in _free(places, write)]}


def _free(places: Places, write: Sequence[Path]) -> Iterator[Path]:
    """Where links may be created: in no folder that contains the state directory."""
    around = {*places.state.parents, *places.state.resolve().parents}
    if around.isdisjoint({Path("/tmp"), Path("/var/tmp")}):  # both are one folder
        yield Path("/tmp")
    for each in (_HOME, _TEMPORARY, Path("/dev/shm"), places.clone, *write):
        if around.isdisjoint({each, each.resolve()}) and (each in (_HOME, _TEMPORARY) or each.is_dir()):
            yield each


def _more(places: Places, asked: Asked) -> Iterator[Mount]:
    yield "closed", "", str(places.state / _OWN), "mode=755,size=64k"
    # mngr's hooks note the agent's activity there, for whoever observes it
    yield "tmpfs", "", str(places.host / "events"), f"mode=700,size=16m,uid={outer_user()}"
    for each in places.believed:
        yield "readable", str(each), str(each), ""
    if (login := _login(places, asked)) is not None:
        for each in (login, _HOME / asked.login):
            yield "writable", str(login), str(each), ""


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    return kept | {"HOME": str(_HOME), "TMPDIR": str(_TEMPORARY), "TMUX_TMPDIR": str(_TEMPORARY)}


def _become_keeper(plan: Mapping[str, Any], argv: Sequence[str], env: Mapping[str, str]) -> None:
    whole = b"\n".join(each.read_bytes() for each in _TEXTS)
    flags = __future__.annotations.compiler_flag
    text = _held(marshal.dumps(compile(whole, "keeper", "exec", flags, dont_inherit=True)))
    head = f"import marshal, sys; sys.argv[1:] = {list(argv)!r}; WALLS = {plan!r}\n"
    main = _held(f"{head}exec(marshal.load(open({text}, 'rb')))\n".encode())
    os.execve(sys.executable, [sys.executable, "-I", "-S", f"/proc/self/fd/{main}"], dict(env))


def _held(content: bytes) -> int:
    number = os.memfd_create("keeper", 0)
    with open(number, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(number, 0, os.SEEK_SET)
    return number


if __name__ == "__main__":
    main()
