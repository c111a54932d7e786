"""The cases of a parametrised test, compared by value: columns may be added, renamed or written differently."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from supervisor.verification.rules.names import Names, literal


@dataclass(frozen=True, slots=True)
class Table:
    """One `parametrize`. `cases` None: not all of them are literal."""

    columns: tuple[str, ...]
    cases: tuple[tuple[str, ...], ...] | None

    def has(self, names: Iterable[str]) -> bool:
        return set(names) <= set(self.columns)

    def of(self, names: tuple[str, ...]) -> list[tuple[str, ...]]:
        places = [self.columns.index(name) for name in names]
        return [tuple(case[place] for place in places) for case in self.cases or ()]


def tables(decorators: Iterable[ast.expr], names: Names, constants: Mapping[str, ast.expr]) -> tuple[Table, ...]:
    return tuple(
        _table(node, constants)
        for node in decorators
        if isinstance(node, ast.Call) and names.dotted(node.func) == "pytest.mark.parametrize"
    )


def _table(node: ast.Call, constants: Mapping[str, ast.expr]) -> Table:
    given = {word.arg: word.value for word in node.keywords}
    argnames = node.args[0] if node.args else given.get("argnames")
    argvalues = node.args[1] if len(node.args) > 1 else given.get("argvalues")
    columns = _columns(argnames)
    if isinstance(argvalues, ast.Name):
        argvalues = constants.get(argvalues.id, argvalues)
    if not isinstance(argvalues, ast.List | ast.Tuple | ast.Set):
        return Table(columns, None)
    cases = [_case(each, len(columns)) for each in argvalues.elts]
    return Table(columns, None if None in cases else tuple(case for case in cases if case is not None))


def _columns(node: ast.expr | None) -> tuple[str, ...]:
    """The parameter names: `"a, b"`, `["a", "b"]` and `("a", "b")` are equivalent."""
    found = literal(node) if node is not None else None
    if found is None:
        return ()
    if isinstance(found[0], str):
        return tuple(word.strip() for word in found[0].split(",") if word.strip())
    return tuple(str(each) for each in found[0]) if isinstance(found[0], list | tuple) else ()


def _case(node: ast.expr, columns: int) -> tuple[str, ...] | None:
    """The values of a case; None: their number is unknown."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "param":
        values = node.args
    elif columns == 1:
        values = [node]
    elif isinstance(node, ast.List | ast.Tuple):
        values = node.elts
    else:
        return None
    if len(values) != columns or any(isinstance(each, ast.Starred) for each in values):
        return None
    return tuple(map(_value, values))


def _value(node: ast.expr) -> str:
    """A literal by its value, anything else by its source without differences of spacing."""
    found = literal(node)
    return repr(found[0]) if found else ast.unparse(node)


@dataclass(frozen=True, slots=True)
class Lost:
    """A case that was removed. `instead`: the case that replaced it; `certain`: its removal is certain."""

    case: str
    instead: str = ""
    certain: bool = True


def lost(before: Iterable[Table], after: Iterable[Table]) -> Iterator[Lost]:
    """The cases that a test no longer runs with."""
    new = list(after)
    for old in before:
        if not old.columns:
            continue
        found = next((table for table in new if table.has(old.columns)), None)
        found = found or next((table for table in new if len(table.columns) >= len(old.columns)), None)
        if found is None:
            yield Lost(f"any values of {', '.join(old.columns)}")
        elif old.cases is not None and found.cases is None:
            yield Lost(", ".join(old.columns), certain=False)
        elif old.cases is not None:
            yield from _missing(old, found)


def _missing(old: Table, new: Table) -> Iterator[Lost]:
    names = old.columns if new.has(old.columns) else new.columns[: len(old.columns)]
    left = new.of(names)
    gone = []
    for case in old.cases or ():
        if case in left:
            left.remove(case)
        else:
            gone.append(case)
    for case in gone:
        alike = [each for each in left if any(one == other for one, other in zip(case, each, strict=True))]
        instead = next(iter(alike or (left if len(left) >= len(gone) else [])), None)
        if instead is not None:
            left.remove(instead)
        yield Lost(_shown(case), _shown(instead) if instead is not None else "")


def _shown(case: tuple[str, ...]) -> str:
    return case[0] if len(case) == 1 else f"({', '.join(case)})"
