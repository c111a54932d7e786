"""Makes a trial's checkout that of another commit, without preparing it anew.

A view has the files that a trial of its commit would have: the commit's own, with pytest's settings and byte code of
the base, and git's, so that the program finds a clean checkout of that commit. Blocking.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pygit2

from supervisor.adapters.git.checkouts import BRANCH
from supervisor.model.batch import Batch
from supervisor.verification.evidence.contents import differing, reader
from supervisor.verification.evidence.laying import Content
from supervisor.verification.trials.asking import laid
from supervisor.verification.trials.preparing import Base
from supervisor.verification.trials.runs import View
from supervisor.verification.trials.tidying import digest, is_bytecode

#: files of git's that name the commit
_NAMING = (f"refs/heads/{BRANCH}", "logs/HEAD", f"logs/refs/heads/{BRANCH}")


def prepared(bare: Path, sha: str) -> View:
    """What a trial of this commit has prepared."""
    now = reader(bare, sha)
    return View(sha, now, now)


def view_of(batch: Batch, bare: Path, before: View, sha: str, checkout: Path) -> View:
    """`before`: what is prepared, in this checkout. Raises Unready."""
    if sha == before.sha:
        return before
    now, base = reader(bare, sha), Base(bare, batch.base, sha)
    settings = laid(batch.profile, base, {})
    others = laid(batch.profile, Base(bare, batch.base, before.sha), {})
    paths = differing(bare, before.sha, sha) | settings.keys() | others.keys()
    files: dict[str, Content | None] = {path: now(path) for path in paths}
    files |= {path: None if content is None else Content(content) for path, content in settings.items()}
    if compiled := [path for path in paths if is_bytecode(path)]:
        own = base.bytecode()
        files |= {path: None for path in compiled if _digest(files[path]) != own.get(path)}
    return View(sha, now, before.now, files, dict(_history(bare, before.sha, sha, checkout / ".git")))


def _digest(content: Content | None) -> str | None:
    return digest(content.data) if content is not None else None


def _history(bare: Path, before: str, sha: str, git: Path) -> Iterator[tuple[str, Content]]:
    for name in _NAMING:
        if (git / name).is_file():
            yield f".git/{name}", Content((git / name).read_bytes().replace(before.encode(), sha.encode()))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index"
        index = pygit2.Index(str(file))
        index.read_tree(pygit2.Repository(str(bare))[sha].peel(pygit2.Tree))
        index.write()
        yield ".git/index", Content(file.read_bytes())
