"""The text of a changed syntax tree, unchanged wherever the tree is unchanged.

So two changes of one file can be told apart, and the lines that a fault changes are known.
"""

import ast
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise

type _Replaced = tuple[int, int, str]


def spliced(text: str, tree: ast.Module, place: int, inserted: Sequence[ast.stmt]) -> str:
    """`tree` is the text's, with statements changed in place; `inserted` goes before the statement at `place`."""
    ast.fix_missing_locations(tree)
    lines, original = text.splitlines(keepends=True), ast.parse(text)
    if _share_lines(original.body) or not text.endswith("\n"):
        tree.body[place:place] = inserted
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    replaced = list(_replaced(original.body, tree.body))
    if inserted:
        line = _span(original.body[place])[0] - 1 if place < len(original.body) else len(lines)
        replaced.append((line, line, "\n".join(ast.unparse(each) for each in inserted) + "\n"))
    for start, end, new in sorted(replaced, key=lambda each: each[:2], reverse=True):
        lines[start:end] = [new]
    return "".join(lines)


def _replaced(before: Sequence[ast.stmt], after: Sequence[ast.stmt]) -> Iterator[_Replaced]:
    """Which lines are replaced by what: by functions and methods, otherwise by whole statements."""
    for old, new in zip(before, after, strict=True):
        if ast.dump(old) == ast.dump(new):
            continue
        if isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef) and _by_members(old, new):
            yield from _replaced(old.body, new.body)
            continue
        start, end = _span(old)
        yield start - 1, end, textwrap.indent(ast.unparse(new), " " * old.col_offset) + "\n"


def _by_members(old: ast.ClassDef, new: ast.ClassDef) -> bool:
    """Whether they differ in their members only, each with lines of its own."""
    heads = [[*map(ast.dump, (*each.bases, *each.keywords, *each.decorator_list))] for each in (old, new)]
    is_apart = old.body[0].lineno > old.lineno and not _share_lines(old.body)
    return heads[0] == heads[1] and len(old.body) == len(new.body) and is_apart


def _span(node: ast.stmt) -> tuple[int, int]:
    """Its lines, decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)]), node.end_lineno or node.lineno


def _share_lines(body: Sequence[ast.stmt]) -> bool:
    spans = [_span(each) for each in body]
    return any(second[0] <= first[1] for first, second in pairwise(spans))
