"""What a repository is, to the byte and to the second: to be held against what it is later."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

#: in a .git: objects, which only come, and the refs that are ours, with their logs
OURS = ("objects/", "refs/heads/supervisor/", "logs/refs/heads/supervisor/")


def facts(repo: Path) -> dict[str, str]:
    """Every file but objects and refs of ours: index, HEAD, refs, stash, reflogs, config, hooks and work tree, each
    with its mode, the time it was written, and what is in it. Folders of the work tree tell what came and went."""
    return dict(_facts(repo))


def _facts(repo: Path) -> Iterator[tuple[str, str]]:
    for parent, folders, names in os.walk(repo):
        inside = Path(parent).relative_to(repo).parts[:1] == (".git",)
        for path in map(Path(parent).joinpath, [*names, *([] if inside else folders)]):
            name = path.relative_to(repo).as_posix()
            if name == ".git" or (name.removeprefix(".git/").startswith(OURS) and inside):
                continue
            found = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            yield name, f"{found.st_mode:o} {found.st_mtime_ns} {content}"


def out_of_step(repo: Path) -> None:
    """The index can't tell that these files are what they were, nor whether it is newer: a refresh would write it."""
    files = sorted(path for path in repo.iterdir() if path.is_file())
    for path in files:
        os.utime(path)
    now = (repo / ".git" / "index").stat().st_mtime_ns
    os.utime(files[0], ns=(now, now))
