"""Faults of the daemon's own machine: each costs time, none costs work, and what goes wrong is said."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.daemon.crash import ROOT, CrashBox
from tests.waiting import until_sync

pytestmark = pytest.mark.proof

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk, or be somebody else")
QUICK = {"call_timeout_seconds": 5, "create_timeout_seconds": 8, "list_seconds": 2}
SOMEBODY = 61234
READS_ALL = "+dac_override,+dac_read_search"
AS_SOMEBODY = (
    *("setpriv", "--reuid", str(SOMEBODY), "--regid", str(SOMEBODY), "--clear-groups"),
    *("--inh-caps", READS_ALL, "--ambient-caps", READS_ALL),
)


@contextmanager
def at_work(box: CrashBox, prefix: Sequence[str] = ()) -> Iterator[subprocess.Popen[str]]:
    """A daemon whose first agent lives; at the end it has done all that there was to do."""
    with log_of(box).open("a") as log, box.start(log=log, prefix=prefix) as process:
        try:
            until_sync("an agent lives", lambda: says(box.lives, "live"), 60)
            yield process
            process.wait(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0, log_of(box).read_text()[-2000:]


def log_of(box: CrashBox) -> Path:
    return box.folder / "log"


def says(path: Path, words: str) -> bool:
    return path.exists() and words in path.read_text()


@contextmanager
def limited(pid: int, what: int, most: int) -> Iterator[None]:
    before = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (most, before[1]))
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, what, before)


def test_without_file_descriptors_it_waits_and_goes_on(tmp_path: Path) -> None:
    box = CrashBox(tmp_path, jobs=3, settings=QUICK, profile={"env": {"WORK_SECONDS": "2"}, "retries": 3})
    with at_work(box) as daemon, limited(daemon.pid, resource.RLIMIT_NOFILE, 3):
        until_sync("it says what is wrong", lambda: says(log_of(box), "Too many open files"), 60)
    assert "Traceback" not in log_of(box).read_text()
    assert box.check() == {"improved": 3}


@as_root
def test_without_processes_it_waits_and_goes_on() -> None:
    """The limit is one of the user's, and none for root: so it runs as somebody who may read all that root may."""
    with tempfile.TemporaryDirectory() as folder:  # in a place that others may enter
        box = CrashBox(Path(folder), jobs=3, settings=QUICK, profile={"env": {"WORK_SECONDS": "2"}, "retries": 3})
        box.state_dir.mkdir()
        belongs_to(SOMEBODY, box.folder)
        with at_work(box, prefix=AS_SOMEBODY) as daemon, without_processes(daemon.pid):
            until_sync("it says what is wrong", lambda: says_short_of_processes(log_of(box)), 60)
        assert "Traceback" not in log_of(box).read_text()
        belongs_to(0, box.folder)
        assert box.check() == {"improved": 3}


@contextmanager
def without_processes(pid: int) -> Iterator[None]:
    """Said by somebody of the same name: root may not say it everywhere."""
    most = resource.prlimit(os.getpid(), resource.RLIMIT_NPROC)[1]
    hard = "unlimited" if most == resource.RLIM_INFINITY else str(most)
    say = [*AS_SOMEBODY, "prlimit", "--pid", str(pid)]
    subprocess.run([*say, f"--nproc=1:{hard}"], check=True)
    try:
        yield
    finally:
        subprocess.run([*say, f"--nproc={hard}:{hard}"], check=True)


def says_short_of_processes(path: Path) -> bool:
    return says(path, "Resource temporarily unavailable") or says(path, "can't start new thread")


def belongs_to(user: int, folder: Path) -> None:
    """git reads no repository of others."""
    for each in (folder, *folder.rglob("*")):
        os.chown(each, user, user, follow_symlinks=False)


# --- a disk of its own


class SmallDisk:
    """A file system that only its own processes see, in the place of a folder."""

    def __init__(self, folder: Path, size: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        mount = f'mount -t tmpfs -o size={size} none "$1" && echo ready && exec sleep 600'
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, "sh", str(folder)]
        self._holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "SmallDisk":
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self._holder.kill()
        self._holder.communicate()

    @property
    def prefix(self) -> Sequence[str]:
        return ("nsenter", "--target", str(self._holder.pid), "--mount")

    @property
    def inside(self) -> Path:
        return Path(f"/proc/{self._holder.pid}/root{self._folder}")

    def remount(self, how: str) -> None:
        subprocess.run([*self.prefix, "mount", "-o", f"remount,{how}", str(self._folder)], check=True)

    def fill(self) -> Path:
        filler = self.inside / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(1 << 16)):
                pass
        return filler


@as_root
def test_on_a_full_disk_it_waits_and_goes_on(tmp_path: Path) -> None:
    box = CrashBox(tmp_path, jobs=3, settings=QUICK, profile={"env": {"WORK_SECONDS": "2"}, "retries": 9})
    with SmallDisk(box.state_dir, "96m") as disk:
        with at_work(box, prefix=disk.prefix):
            filler = disk.fill()
            until_sync("it says what is wrong", lambda: says_full(log_of(box)), 60)
            filler.unlink()
        subprocess.run(["cp", "-a", f"{disk.inside}/.", box.state_dir], check=True)
    assert box.check() == {"improved": 3}


def says_full(path: Path) -> bool:
    """Who writes first meets it first: the journal, or mngr."""
    return says(path, "can't write the journal") or says(path, "No space left on device")


@as_root
def test_where_it_may_not_write_it_says_so_and_starts_when_it_may(tmp_path: Path) -> None:
    box = CrashBox(tmp_path, jobs=1, settings=QUICK)
    with SmallDisk(box.state_dir, "96m") as disk:
        with at_work(box, prefix=disk.prefix):
            pass
        before = {each.name: each.read_bytes() for each in disk.inside.glob("journal*")}
        disk.remount("ro")
        command = [
            *disk.prefix,
            sys.executable,
            "-m",
            "supervisor.cli.supervisord",
            "--state-dir",
            str(box.state_dir),
        ]
        refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert refused.returncode == 2
        assert "Read-only file system" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert {each.name: each.read_bytes() for each in disk.inside.glob("journal*")} == before
        disk.remount("rw")
        with log_of(box).open("a") as log, box.start(log=log, prefix=disk.prefix) as again:
            assert again.wait(timeout=60) == 0
