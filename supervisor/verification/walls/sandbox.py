"""Decides which walls a trial has, by its profile and by what this machine can build; explains those that it hit."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from supervisor.model.batch import Batch
from supervisor.model.profile import Profile
from supervisor.verification.walls.toolchain import tools
from supervisor.verification.walls.walls import MEGABYTE, Limits, Walls, own_places

#: kernel settings that may keep an ordinary user from building walls: the value that does, and one that does not
_SWITCHES = {
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "user.max_user_namespaces": ("0", "10000"),
}
_ANYWHERE = (
    "it takes Linux 5.14 and the right to make user namespaces; in a container start that with"
    " `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`"
)
#: what `doctor` says
ENCLOSED = (
    "verification is enclosed in namespaces; the kernel limits processes, a process of ours watches memory and disk"
)
NOT_ENCLOSED = {
    "namespace": "without walls, each verification runs in its own pid namespace and ends with it",
    "subreaper": "no pid namespace can be created here: processes of a verification are searched for and ended",
}


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The walls of one trial."""

    batch: Batch
    state_dir: Path
    #: git objects that its checkouts borrow
    objects: Path
    #: why the machine can't build walls
    lacks: str = ""

    @property
    def is_on(self) -> bool:
        return self.batch.profile.sandbox != "off" and not self.lacks

    @property
    def note(self) -> str:
        """What a person has to know about runs without walls."""
        return f"without walls: {self.lacks}" if self.batch.profile.sandbox != "off" and self.lacks else ""

    def walls(
        self,
        standing: Path,
        places: Collection[Path],
        fresh: Collection[Path],
        checkout: Path,
        *,
        is_setup: bool = False,
        moved: tuple[tuple[Path, Path], ...] = (),
    ) -> Walls | None:
        """`standing`: the folder that is mounted at /tmp. `places` are writable; the `fresh` ones among them were
        made for this."""
        if not self.is_on:
            return None
        profile, repo = self.batch.profile, Path(self.batch.repo)
        private = (*own_places(self.state_dir), repo)
        found = tools(os.environ.get("PATH", os.defpath), profile.pytest[:1], named(profile), private, repo)
        return Walls(
            standing,
            (*map(Path, profile.sandbox_write), *places),
            (*sorted(found), *map(Path, profile.sandbox_read), self.objects),
            private,
            shown=(repo, checkout),
            fresh=(standing, *fresh),
            network=profile.sandbox_network == "always" or (is_setup and profile.sandbox_network == "setup"),
            limits=limits_of(profile),
            moved=moved,
        )


def named(profile: Profile) -> tuple[Path, ...]:
    """Paths in the variables that the profile gives."""
    words = [word for value in profile.env.values() for word in value.split(os.pathsep)]
    return tuple(Path(word) for word in words if word.startswith("/"))


def limits_of(profile: Profile) -> Limits:
    memory, disk = profile.sandbox_memory_mb * MEGABYTE, profile.sandbox_disk_mb * MEGABYTE
    return Limits(memory, profile.sandbox_processes, disk)


def mend(lacks: str) -> str:
    """What to do if walls can't be built."""
    for name, (bad, good) in _SWITCHES.items():
        try:
            if Path("/proc/sys", name.replace(".", "/")).read_text().strip() == bad:
                return f"set {name}: `sysctl -w {name}={good}`"
        except OSError:
            continue
    return _ANYWHERE


def ended_for(met: Collection[str], profile: Profile, *, is_here: bool = True) -> str:
    """Why its walls ended a program, in a sentence; "" if they did not."""
    limits = limits_of(profile)
    memory = _size(limits.memory_here) if is_here or limits.memory else "half of its host's"
    said = {
        "processes": f"it started more than {limits.processes} processes (`sandbox_processes`)",
        "memory": f"it used more than {memory} of memory (`sandbox_memory_mb`)",
        "disk": f"it wrote more than {_size(limits.disk)} (`sandbox_disk_mb`)",
        "full": "it was ended because the disk was nearly full",
    }
    return next((said[each] for each in met if each in said), "")


def missed(met: Collection[str]) -> str:
    """What else a program hit, to explain a failure."""
    asked = "it tried to reach the network, which the profile does not give (`sandbox_network`)"
    return asked if "network" in met else ""


def _size(size: int) -> str:
    megabytes = size / MEGABYTE
    return f"{megabytes / 1024:.3g} GB" if megabytes >= 1024 else f"{megabytes:.4g} MB"
