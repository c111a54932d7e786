"""Processes that belong to a folder: something in their environment is a path below it."""

from pathlib import Path

from supervisor.e2e import processes


def end_below(folder: Path) -> None:
    """What mngr starts beside an agent, and agents themselves, outlive whoever started them."""
    processes.end(lambda: below(folder), grace=1.0)


def below(folder: Path) -> set[int]:
    pids = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()}
    return {pid for pid in pids if _is_below(pid, folder) and processes.is_alive(pid)}


def _is_below(pid: int, folder: Path) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"={folder}/".encode() in environment or f"={folder}\0".encode() in environment
