"""Node ids of pytest: `tests/test_a.py::TestB::test_c[1]`."""

from collections.abc import Mapping


def file_of(node: str) -> str:
    return node.partition("::")[0]


def function_of(node: str) -> str:
    """A node id without its parameters."""
    path, sep, inside = node.partition("::")
    return path + sep + inside.partition("[")[0]


def cases_of[T](cases: Mapping[str, T], node: str) -> dict[str, T]:
    """The cases of a node: the case itself, or all cases of the function, class, file or folder."""
    if node in cases:
        return {node: cases[node]}
    inside = (f"{node}::", f"{node.rstrip('/')}/")
    return {each: case for each, case in cases.items() if function_of(each) == node or each.startswith(inside)}
