"""What a trial always takes from the base, not from the work: pytest's settings, and byte code.

A file is refused if pytest would import it in place of a module that pytest needs, before anything can report.
"""

import configparser
import tomllib
from collections.abc import Collection
from pathlib import Path, PurePosixPath

import pygit2

from supervisor.verification.rules.places import Allowed
from supervisor.verification.rules.policy import may_edit
from supervisor.verification.trials.tidying import LARGEST, digest, is_bytecode

#: files with only pytest's settings, and files with a section for them
_WHOLE = {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"}
_IN_PART = {"pyproject.toml", "tox.ini", "setup.cfg"}
_IMPORTED = (".py", ".pyc", ".so")

#: pytest, and the Python that starts it, import these before any plugin, from wherever comes first on the path
_EARLY = """
    __future__ _compression _pytest _strptime abc argparse ast asyncio atexit base64 bdb binascii bisect bz2
    calendar cmd codecs code codeop collections contextlib contextvars copy copyreg csv dataclasses datetime
    decimal difflib dis doctest email encodings enum errno exceptiongroup faulthandler fnmatch functools gc
    genericpath getpass gettext glob hashlib heapq html importlib iniconfig inspect io ipaddress itertools json
    keyword linecache locale logging lzma marshal math mimetypes ntpath numbers opcode operator os packaging
    pathlib pdb pickle pkgutil platform pluggy posixpath pprint py pygments pytest queue quopri random re
    reprlib runpy select selectors shlex shutil signal site sitecustomize socket sre_compile sre_constants
    sre_parse stat string stringprep struct subprocess supervisor_reports sys sysconfig tempfile textwrap
    threading time timeit token tokenize tomli tomllib traceback types typing typing_extensions unicodedata
    unittest urllib usercustomize uuid warnings weakref xml zipfile zipimport
"""
EARLY = frozenset(_EARLY.split())


class Base:
    """The tree of a batch's base, compared with the one under trial. Blocking: use it in a thread."""

    def __init__(self, bare: Path, base: str, tried: str) -> None:
        self._repo = pygit2.Repository(str(bare))
        self._base, self._tried = (self._repo[each].peel(pygit2.Tree) for each in (base, tried))
        deltas = self._base.diff_to_tree(self._tried).deltas
        self._changed = sorted({path for each in deltas for path in (each.old_file.path, each.new_file.path)})

    def settings(self, allowed: Allowed) -> dict[str, bytes | None]:
        """Files whose pytest settings differ from the base's, with their content at the base (None: no file), except
        those that the profile's allowed paths let agents edit."""
        return {
            path: self._content(self._base, path)
            for path in self._changed
            if PurePosixPath(path).name in _WHOLE | _IN_PART
            and not (allowed.allow and may_edit(path, allowed))
            and _settings(path, self._content(self._base, path)) != _settings(path, self._content(self._tried, path))
        }

    def fronts(self, roots: Collection[str]) -> str:
        """A new file that would be imported in place of a module that pytest needs; "" if there is none."""
        for path in self._changed:
            for root in roots:
                inside = (
                    PurePosixPath(path).relative_to(root).parts if PurePosixPath(path).is_relative_to(root) else ()
                )
                is_package = len(inside) == 2 and inside[1].startswith("__init__.")
                if not (len(inside) == 1 or is_package) or not inside[-1].endswith(_IMPORTED):
                    continue
                is_new = self._has(self._tried, path) and not self._has(self._base, path)
                if is_new and inside[0].partition(".")[0] in EARLY:
                    return path
        return ""

    def bytecode(self) -> dict[str, str]:
        """The base's files of byte code, each with the digest of its content."""
        index = pygit2.Index()
        index.read_tree(self._base)
        found = {each.path: self._content(self._base, each.path) for each in index if is_bytecode(each.path)}
        return {path: digest(content) for path, content in found.items() if content is not None}

    def _content(self, tree: pygit2.Tree, path: str) -> bytes | None:
        try:
            found = tree[path]
        except KeyError:
            return None
        return found.data if isinstance(found, pygit2.Blob) and found.size <= LARGEST else None

    @staticmethod
    def _has(tree: pygit2.Tree, path: str) -> bool:
        return path in tree


def _settings(path: str, content: bytes | None) -> object:
    """The part of a file that pytest reads; the whole file if it can't be parsed."""
    name = PurePosixPath(path).name
    if content is None or name in _WHOLE:
        return content or None
    text = content.decode(errors="replace")
    try:
        if name == "pyproject.toml":
            return tomllib.loads(text).get("tool", {}).get("pytest")
        parser = configparser.RawConfigParser(strict=False)
        parser.read_string(text)
    except (tomllib.TOMLDecodeError, configparser.Error, AttributeError, RecursionError):
        return text
    section = "pytest" if name == "tox.ini" else "tool:pytest"
    return dict(parser[section]) if section in parser else None
