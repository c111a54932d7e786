"""Files of a commit, and how a checkout gets other ones, wherever hostile links in it may lead. Blocking."""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pygit2

type Kind = Literal["file", "program", "link"]
_KINDS: Mapping[int, Kind] = {
    int(pygit2.enums.FileMode.BLOB): "file",
    int(pygit2.enums.FileMode.BLOB_EXECUTABLE): "program",
    int(pygit2.enums.FileMode.LINK): "link",
}


@dataclass(frozen=True, slots=True)
class Content:
    data: bytes
    kind: Kind = "file"


#: None: there is no such file
type Contents = Mapping[str, Content | None]


def contents(bare: Path, sha: str, paths: Iterable[str]) -> dict[str, Content | None]:
    tree = pygit2.Repository(str(bare))[sha].peel(pygit2.Tree)
    return {path: _content(tree, path) for path in paths}


def _content(tree: pygit2.Tree, path: str) -> Content | None:
    try:
        found = tree[path]
    except KeyError:
        return None
    if not isinstance(found, pygit2.Blob) or (kind := _KINDS.get(int(found.filemode))) is None:
        return None
    return Content(found.data, kind)


def names(bare: Path, sha: str) -> frozenset[str]:
    """Of all files of a commit."""
    tree = pygit2.Repository(str(bare))[sha].peel(pygit2.Tree)
    index = pygit2.Index()
    index.read_tree(tree)
    return frozenset(entry.path for entry in index)


def put(checkout: Path, files: Contents) -> None:
    """What is in the way is removed, and no link is followed."""
    for path, content in files.items():
        place = _place(checkout, path)
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        if content is None:
            continue
        if content.kind == "link":
            place.symlink_to(content.data.decode(errors="surrogateescape"))
            continue
        place.write_bytes(content.data)
        place.chmod(0o755 if content.kind == "program" else 0o644)


def _place(checkout: Path, path: str) -> Path:
    """Where the file belongs, in folders that are folders."""
    *folders, name = [part for part in path.split("/") if part]
    place = checkout
    for part in folders:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    return place / name
