"""What pytest says of each test in its JUnit report, which hostile code may have written: bounded, no entities."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple
from xml.etree import ElementTree

MAX_BYTES = 16 * 2**20

type Result = Literal["passed", "skipped", "failed"]
_WORST_LAST: tuple[Result, ...] = ("passed", "skipped", "failed")


class Address(NamedTuple):
    """A test as the report names it."""

    classname: str
    name: str

    @property
    def function(self) -> tuple[str, str]:
        """Without its parameters."""
        return self.classname, self.name.partition("[")[0]


type Results = Mapping[Address, Result]


def address(node: str) -> Address:
    """Of a node id, by the rules of pytest's own reporter."""
    path, bracket, parameters = node.partition("[")
    file, *names = path.split("::")
    module = re.sub(r"\.py$", "", file.replace("/", "."))
    *outer, last = [module, *names]
    return Address(".".join(outer), last + bracket + parameters)


def read_report(path: Path) -> Results | None:
    """None: there is no report, or none that can be read."""
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            return None
        root = ElementTree.fromstring(data)
    except (OSError, ElementTree.ParseError):
        return None
    results: dict[Address, Result] = {}
    for case in root.iter("testcase"):
        where = Address(case.get("classname", ""), case.get("name", ""))
        results[where] = max(results.get(where, "passed"), _result(case), key=_WORST_LAST.index)
    return results


def _result(case: ElementTree.Element) -> Result:
    tags = {child.tag for child in case}
    if tags & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in tags else "passed"
