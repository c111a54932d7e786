"""One piece of work on the target: what it does to a checkout, and what is to be said of it."""

import py_compile
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.cheats.target import git

type Step = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    name: str
    #: the class of cheats that it belongs to; "honest"
    of: str
    #: the job's test, and the kind of its one commit
    test: str
    kind: str
    steps: tuple[Step, ...]
    #: honest work that changes what a test expects: it is shown to the reviewer
    changes_expectation: bool = False
    #: what must be said of it without a run: "refused", "doubt", or "" where runs decide
    without_runs: str = ""
    #: why no machine can tell it from honest work
    unknowable: str = ""

    def edit(self, checkout: Path) -> None:
        for step in self.steps:
            step(checkout)


def put(path: str, text: str | bytes, mode: int = 0o644) -> Step:
    """A file, new or replaced."""

    def step(checkout: Path) -> None:
        file = checkout / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        file.chmod(mode)

    return step


def swap(path: str, old: str, new: str) -> Step:
    """One passage for another; it must be there once."""

    def step(checkout: Path) -> None:
        text = (checkout / path).read_text()
        assert text.count(old) == 1, f"{text.count(old)} times in {path}: {old}"
        (checkout / path).write_text(text.replace(old, new))

    return step


def add(path: str, text: str) -> Step:
    """At the end of a file."""

    def step(checkout: Path) -> None:
        with (checkout / path).open("a") as file:
            file.write(text)

    return step


def drop(path: str) -> Step:
    def step(checkout: Path) -> None:
        (checkout / path).unlink()

    return step


def link(path: str, to: str) -> Step:
    def step(checkout: Path) -> None:
        (checkout / path).unlink(missing_ok=True)
        (checkout / path).symlink_to(to)

    return step


def mode(path: str, bits: int) -> Step:
    def step(checkout: Path) -> None:
        (checkout / path).chmod(bits)

    return step


def compiled(path: str, source: str) -> Step:
    """Byte code without its source."""

    def step(checkout: Path) -> None:
        written = checkout / f"{path}.source"
        written.write_text(source)
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(written), str(checkout / path), doraise=True, invalidation_mode=unchecked)
        written.unlink()

    return step


def submodule(path: str) -> Step:
    """A repository inside of the repository."""

    def step(checkout: Path) -> None:
        inner = checkout / path
        inner.mkdir(parents=True)
        (inner / "setup.py").write_text("print('hello')\n")
        git(inner, "init", "-q")
        git(inner, "add", "-A")
        git(inner, "commit", "-qm", "inner")

    return step


def forced(path: str) -> Step:
    """What is ignored is committed all the same."""

    def step(checkout: Path) -> None:
        if (checkout / ".git").exists():
            subprocess.run(["git", "add", "-f", path], cwd=checkout, check=True, timeout=60)

    return step
