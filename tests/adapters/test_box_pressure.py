"""What is left of this machine is read as the kernel writes it, and told when it has changed."""

from dataclasses import replace
from pathlib import Path

from supervisor.adapters.box_pressure import is_news, look
from supervisor.model.pressure import Pressure

MEMORY = "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    8000000 kB\n"
WAITING = "some avg10=40.00 avg60=1.00 avg300=0.00 total=1\nfull avg10=25.50 avg60=1.00 avg300=0.00 total=1\n"


def proc(root: Path) -> Path:
    for name, text in {
        "meminfo": MEMORY,
        "pressure/memory": WAITING,
        "pressure/io": WAITING.replace("25.50", "0.00"),
        "sys/fs/file-nr": "1000\t0\t1200\n",
        "self/fd/0": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_kernel_tells(tmp_path: Path) -> None:
    seen = look(tmp_path, proc(tmp_path / "proc"))
    assert (seen.memory_free_mb, seen.memory_total_mb) == (7812, 15625)
    assert (seen.memory_share, seen.io_share, seen.files_free) == (0.255, 0.0, 200)
    assert seen.disk_free_mb > 0


def test_this_machine_can_be_looked_at(tmp_path: Path) -> None:
    assert look(tmp_path).memory_total_mb > 0


def test_small_changes_are_no_news() -> None:
    seen = Pressure(8000, 16000, 50_000, 1000)
    assert is_news(None, seen)
    assert not is_news(seen, replace(seen, memory_free_mb=7500))
    assert is_news(seen, replace(seen, memory_free_mb=7000))
    assert is_news(seen, replace(seen, io_share=0.2))
