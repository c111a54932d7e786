"""What a test takes more of than it may have ends it, and is told."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.verification.enclosed import attacked, enclosed

FORKS = (
    "kept = []\nwhile True:\n    try:\n        kept.append(os.fork())\n    except OSError:\n        continue\n"
    "    if not kept[-1]:\n        time.sleep(600)"
)
THREADS = (
    "import threading\nwhile True:\n    try:\n        threading.Thread(target=time.sleep, args=(600,)).start()\n"
    "    except RuntimeError:\n        continue"
)
BOMB = "while True:\n    try:\n        os.fork()\n    except OSError:\n        time.sleep(0.01)"


@pytest.mark.parametrize("body", [FORKS, THREADS, BOMB], ids=["forks", "threads", "a bomb"])
async def test_who_starts_too_many_processes_is_ended(body: str, tmp_path: Path) -> None:
    async with enclosed(tmp_path) as here:
        run = await attacked(here, body, sandbox_processes=64)

    assert run.why_not == "it started more than 64 processes (`sandbox_processes`)"


ALLOCATES = "kept = []\nwhile True:\n    kept.append(b'x' * 2**20)"
TOGETHER = (
    "for _ in range(8):\n    if not os.fork():\n        kept = b'x' * 2**26\n        time.sleep(600)\ntime.sleep(600)"
)
UNMAPPED = "file = open(os.memfd_create('x'), 'wb')\nwhile True:\n    file.write(bytes(2**20))"


@pytest.mark.parametrize("body", [ALLOCATES, TOGETHER, UNMAPPED], ids=["one", "several", "in no process"])
async def test_who_uses_too_much_memory_is_ended(body: str, tmp_path: Path) -> None:
    async with enclosed(tmp_path) as here:
        run = await attacked(here, body, sandbox_memory_mb=256)

    assert run.why_not == "it used more than 256 MB of memory (`sandbox_memory_mb`)"


async def test_shared_memory_has_an_end(tmp_path: Path) -> None:
    body = "with open('/dev/shm/x', 'wb') as file:\n    for _ in range(300):\n        file.write(bytes(2**20))"
    async with enclosed(tmp_path) as here:
        run = await attacked(here, body, sandbox_memory_mb=256)

    assert "No space left on device" in run.why_not, run.why_not


#: without an end, but slower than a disk that others use as well
WRITES = "while True:\n    file.write(os.urandom(2**20))\n    file.flush()"
PLACES = {
    "home": "file = open(os.path.expanduser('~/x'), 'wb')",
    "the checkout": "file = open('x', 'wb')",
    "a temporary file": "file = tempfile.NamedTemporaryFile()",
    "a file without a name": "file = tempfile.TemporaryFile()",
    "/tmp": "file = open('/tmp/x', 'wb')",
    "/var/tmp": "file = open('/var/tmp/x', 'wb')",
}


@pytest.mark.parametrize("place", PLACES)
async def test_who_writes_too_much_is_ended(place: str, tmp_path: Path) -> None:
    async with enclosed(tmp_path) as here:
        run = await attacked(here, f"{PLACES[place]}\n{WRITES}", sandbox_disk_mb=64)

    assert run.why_not == "it wrote more than 64 MB (`sandbox_disk_mb`)"


async def test_many_small_files_count_as_well(tmp_path: Path) -> None:
    body = "for each in range(10**6):\n    with open(f'/tmp/{each}', 'wb') as file:\n        file.write(bytes(4096))"
    async with enclosed(tmp_path) as here:
        run = await attacked(here, body, sandbox_disk_mb=16)

    assert run.why_not == "it wrote more than 16 MB (`sandbox_disk_mb`)"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
async def test_a_disk_is_not_filled(tmp_path: Path) -> None:
    """Whatever the profile allows."""
    with small_disk(tmp_path / "state"):
        async with enclosed(tmp_path) as here:
            run = await attacked(here, "file = open('x', 'wb')\n" + WRITES)

    assert run.why_not == "it was ended because the disk was nearly full"


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256m", "none", folder], check=False, capture_output=True
    )
    if made.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)  # git keeps packs open
