"""What counts as a change of a function, and of the code around it."""

import pytest

from supervisor.foresight.functions import MODULE, read

SOURCE = '''
"""A shop."""
import os

PRICE = 3


@cache
def total(count, tax=1):
    """What it costs."""
    def rounded(n):
        return n // 1
    return rounded(count * PRICE) + tax


class Cart:
    size = 2

    def add(self, thing):
        return [thing]

    @property
    def all(self):
        return 1

    @all.setter
    def all(self, value):
        self.value = value
'''
NAMES = {MODULE, "total", "total.rounded", "Cart.add", "Cart.all", "Cart.all#2"}


def differing(other: str) -> set[str]:
    before, after = read(SOURCE.encode()).digests, read(other.encode()).digests
    assert before.keys() == NAMES
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("import os", "# it needs the system\nimport  os", set()),
        ("return [thing]", "return [\n            thing,  # one\n        ]", set()),
        ("return [thing]", "return [thing, 1]", {"Cart.add"}),
        ("n // 1", "n // 2", {"total.rounded"}),
        ("+ tax", "- tax", {"total"}),
        ("tax=1", "tax=2", {"total"}),
        ("tax=1", "tax=os.sep", {"total", MODULE}),
        ("What it costs.", "What it should cost.", {MODULE}),
        ("PRICE = 3", "PRICE = 4", {MODULE}),
        ("size = 2", "size = 3", {MODULE}),
        ("@cache\n", "", {MODULE}),
        ("def add", "def put", {MODULE, "Cart.add", "Cart.put"}),
        ("self.value = value", "self.value = None", {"Cart.all#2"}),
        ("def rounded(n)", "async def rounded(n)", {"total"}),
    ],
)
def test_a_change_is_of_the_function_that_it_is_in(old: str, new: str, parts: set[str]) -> None:
    assert old in SOURCE
    assert differing(SOURCE.replace(old, new)) == parts


def test_a_line_belongs_to_the_innermost_function_and_a_head_to_who_defines_it() -> None:
    lines = {line.strip(): number for number, line in enumerate(SOURCE.splitlines(), 1)}
    code = read(SOURCE.encode())
    assert code.at(lines["return n // 1"]).name == "total.rounded"
    assert code.at(lines["def rounded(n):"]).name == "total"
    assert code.at(lines["@cache"]).name == MODULE
    assert code.at(lines["size = 2"]).name == MODULE
    assert code.at(lines["return 1"]).name == "Cart.all"


@pytest.mark.parametrize("source", [b"def f(:", b"\xff\xfe", b"a = 1\0", b"x" * 2_000_000, b"(" * 5000])
def test_what_can_t_be_parsed_is_one_function(source: bytes) -> None:
    assert read(source).digests.keys() == {MODULE}
    assert read(source).at(1).digest != read(source + b" ").at(1).digest
