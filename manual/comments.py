"""What the comments say of the fields of a class: those above a field or behind it that begin with `#:`."""

import ast
import inspect
import textwrap
from collections.abc import Mapping


def of(cls: type) -> Mapping[str, str]:
    source = textwrap.dedent(inspect.getsource(cls))
    lines = source.splitlines()
    [body] = ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    fields = [node for node in body.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    return {node.target.id: _above(lines, node.lineno - 1) for node in fields if isinstance(node.target, ast.Name)}


def _above(lines: list[str], at: int) -> str:
    first = at
    while first and lines[first - 1].lstrip().startswith("#:"):
        first -= 1
    return " ".join(line.strip().removeprefix("#:").strip() for line in lines[first:at])
