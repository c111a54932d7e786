"""Our own files as the repository keeps them, and our own source, parsed once."""

import ast
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PARTS = ("supervisor/", "tests/", "bench/", "scripts/", "manual/")
#: recorded data, and the program that rehearsal agents work on: it stands for somebody else's
NOT_OURS = ("tests/data/", "supervisor/rehearsal/target/")

type Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source(NamedTuple):
    path: str
    text: str
    tree: ast.Module


@cache
def kept() -> tuple[str, ...]:
    """Every file that the repository keeps, or is about to."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60, text=True).stdout
    return tuple(sorted(path for path in set(listed.split("\0")) if path and (ROOT / path).is_file()))


def read(path: str) -> str:
    """The text of a file; of one that is not text, what can be read of it."""
    return (ROOT / path).read_text(errors="replace")


def is_python(path: str) -> bool:
    """By its name, or as a script by its first line."""
    return path.endswith(".py") or (not Path(path).suffix and "python" in read(path).partition("\n")[0])


@cache
def modules() -> tuple[Source, ...]:
    paths = [path for path in kept() if path.startswith(PARTS) and not path.startswith(NOT_OURS) and is_python(path)]
    return tuple(Source(path, text := read(path), ast.parse(text)) for path in paths)


@cache
def functions() -> tuple[tuple[str, Function], ...]:
    """Every function of ours, with its place."""
    nodes = ((source.path, node) for source in modules() for node in ast.walk(source.tree))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return tuple((f"{path}:{node.name}", node) for path, node in nodes if isinstance(node, kinds))
