"""The changes that a case makes, as policy sees them: without git, without a run."""

import os
import stat
from pathlib import Path

from supervisor.verification.rules.judged import EXECUTABLE, FILE, Base, FileChange
from supervisor.verification.rules.tooling import LINK, REPOSITORY
from tests.cheats.case import Case
from tests.cheats.target import EXECUTABLE as RUN
from tests.cheats.target import FILES, lay_out

PATHS = frozenset(FILES)


def base_of(case: Case) -> Base:
    return Base(FILES[case.test.partition("::")[0]], PATHS)


def changes_of(case: Case, folder: Path) -> list[FileChange]:
    checkout = lay_out(folder / "target")
    case.edit(checkout)
    found = dict(_files(checkout))
    changes = []
    for path in sorted(FILES.keys() | found.keys()):
        before, after = FILES.get(path), found.get(path, (None, 0))
        mode = EXECUTABLE if path in RUN else FILE
        if (before, mode if before is not None else 0) != (after[0], after[1]):
            changes.append(FileChange(path, before, after[0], mode, after[1]))
    return changes


def _files(checkout: Path) -> list[tuple[str, tuple[str, int]]]:
    found = []
    for folder, folders, names in os.walk(checkout):
        here = Path(folder)
        if here != checkout and (here / ".git").exists():
            folders.clear()
            found.append((str(here.relative_to(checkout)), ("", REPOSITORY)))
            continue
        for name in [*names, *(each for each in folders if (here / each).is_symlink())]:
            file = here / name
            path = str(file.relative_to(checkout))
            if file.is_symlink():
                found.append((path, (str(file.readlink()), LINK)))
            else:
                mode = EXECUTABLE if file.stat().st_mode & stat.S_IXUSR else FILE
                found.append((path, (file.read_bytes().decode(errors="replace"), mode)))
    return found
