"""A machine with a real systemd: booted in namespaces, gone without a trace when it is left."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until_sync

DIE_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
BOOT = Path(__file__).with_name("boot")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}


@dataclass
class Machine:
    #: its systemd, as a process of ours
    init: int
    scratch: Path

    def path(self, path: str | Path) -> Path:
        """A file of the machine, to read and write from here."""
        return Path(f"/proc/{self.init}/root") / str(path).lstrip("/")

    def write(self, path: str, text: str) -> None:
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).write_text(text)

    def inside(self, *argv: str | Path) -> list[str]:
        enter = ["nsenter", "--target", str(self.init), "--mount", "--uts", "--ipc", "--cgroup", "--pid", "--wd=/"]
        return [*enter, "--", *map(str, argv)]

    @contextmanager
    def running(self, *argv: str | Path) -> Iterator[subprocess.Popen[str]]:
        """A program that ends when it has read all of its input, or by itself."""
        pipe = subprocess.PIPE
        with subprocess.Popen(
            self.inside(*argv), env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        ) as process:
            yield process

    def try_run(
        self, *argv: str | Path, timeout: float = 120, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.inside(*argv),
            env=ENVIRONMENT | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def run(self, *argv: str | Path, timeout: float = 120, **environment: str) -> str:
        done = self.try_run(*argv, timeout=timeout, **environment)
        assert done.returncode == 0, f"{argv} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def show(self, unit: str, name: str) -> str:
        return self.run("systemctl", "show", "--value", f"--property={name}", unit).strip()

    def said(self, unit: str) -> str:
        """What the journal has of a unit; for messages of failed tests too."""
        return self.run("journalctl", "--no-pager", "--output=short-monotonic", "--unit", unit)

    def entries(self, *matches: str) -> list[dict[str, Any]]:
        lines = self.run("journalctl", "--no-pager", "--output=json", *matches).splitlines()
        return [json.loads(line) for line in lines]

    def group(self, unit: str) -> set[int]:
        """The processes in a unit's control group, by their numbers in the machine."""
        if not (group := self.show(unit, "ControlGroup")):
            return set()
        return {int(pid) for pid in self.run("cat", f"/sys/fs/cgroup{group}/cgroup.procs").split()}


@contextmanager
def booted(scratch: Path) -> Iterator[Machine]:
    """Skips, saying why, where it is not permitted; whatever else is missing is a failure."""
    if os.geteuid() != 0:
        pytest.skip("only root can boot a systemd in namespaces of its own")
    if refusal := _refusal(scratch):
        pytest.skip(f"no systemd can be booted in namespaces here: {refusal}")
    group = f"agent-supervisor-test-{os.getpid()}"
    log = scratch / "boot.log"
    with log.open("w") as out:
        boot = subprocess.Popen(
            [
                *DIE_WITH_US,
                "unshare",
                "--mount",
                BOOT,
                scratch,
                group,
                *_closed_way_to(Path(sys.executable).resolve()),
            ],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        until_sync(f"systemd is there; see {log.read_text()}", lambda: _init_of(boot.pid) or boot.poll() is not None)
        assert boot.poll() is None, f"systemd can't be booted here: {log.read_text()}"
        machine = Machine(_init_of(boot.pid), scratch)
        until_sync("systemd answers", machine.path("/run/systemd/private").exists)
        machine.try_run("systemctl", "is-system-running", "--wait")
        yield machine
    finally:
        with suppress(ProcessLookupError):
            os.kill(_init_of(boot.pid) or boot.pid, signal.SIGKILL)  # and with it all that it runs
        boot.kill()
        boot.wait()
        _remove_groups(scratch, group)
        shutil.rmtree(scratch)


def _refusal(scratch: Path) -> str:
    """What the kernel says to a process that wants a view of its own of mounts, processes and control groups."""
    (view := scratch / "view").mkdir()
    asked = ["unshare", "--mount", "--pid", "--cgroup", "--fork", "mount", "-t", "cgroup2", "cgroup2", str(view)]
    said = subprocess.run(asked, stderr=subprocess.PIPE, text=True, check=False).stderr.strip()
    return said if "permitted" in said or "denied" in said else ""


def _closed_way_to(program: Path) -> list[Path]:
    return [each for each in reversed(program.parents) if not each.stat().st_mode & 0o001]


def _init_of(pid: int) -> int:
    """The process that has become systemd, below the one that made its namespaces; 0 until it is there."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    for child in children.read_text().split() if children.exists() else []:
        if Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
            return int(child)
    return 0


def _remove_groups(scratch: Path, group: str) -> None:
    mounted = scratch / "cgroup"
    script = f'mount -t cgroup2 cgroup2 "{mounted}" && find "{mounted}/{group}" -depth -type d -exec rmdir {{}} +'

    def removed() -> bool:
        return subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True).returncode == 0

    until_sync("the machine's control groups are removed", removed)
