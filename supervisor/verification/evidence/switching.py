"""A file with its own content for each test, so that different faults of it fit into one checkout.

pytest names the running test in `PYTEST_CURRENT_TEST`, and `probes/naming.py` passes the name to every program. The
file is a switch: it executes the content meant for the test that its program belongs to. pytest is one process for
all tests and executes the usual content, so contents may differ only where it executes nothing. If no test is named,
the file notes its own path and executes the usual content; a run with such a note shows nothing.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from supervisor.verification.evidence.laying import Content
from supervisor.verification.evidence.seen import notes

#: where a switch notes that it could not tell, beside the probes
UNTOLD = "untold"
#: the plugin that names tests; a process that has loaded it is pytest itself
NAMING = "_naming_probe"
#: each program that a test starts compiles the switch: larger ones take too long
MOST_BYTES = 2**21

_SWITCH = """\
def _switched():
    import os
    import sys

    named = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if {naming!r} in sys.modules:
        return {usual!r}
    for test, content in {contents!r}.items():
        if named == test or named.startswith((test + "[", test + "::")):
            return {usual!r} if content is None else content
    with open({untold!r}, "a") as noted:
        noted.write({note!r})
    return {usual!r}


exec(compile(globals().pop("_switched")(), __file__, "exec", dont_inherit=True))
"""


@dataclass(frozen=True, slots=True)
class Switch:
    #: for tests without content of their own
    usual: Content
    #: by test; None: the usual one
    contents: Mapping[str, Content | None]

    @property
    def is_small(self) -> bool:
        return sum(len(each.data) for each in (self.usual, *self.contents.values()) if each) <= MOST_BYTES

    def content(self, path: str, folder: Path) -> Content:
        """`folder`: for what it notes."""
        text = _SWITCH.format(
            contents={test: content and content.data for test, content in self.contents.items()},
            usual=self.usual.data,
            naming=NAMING,
            untold=str(folder / UNTOLD),
            note=json.dumps([path]) + "\n",
        ).encode()
        first, line, _ = self.usual.data.partition(b"\n")
        head = first + line if first.startswith(b"#!") else b""
        return Content(head + text, self.usual.kind)


def untold(folder: Path) -> frozenset[str]:
    """The files that could not tell the test; "" alone if something else is in place of their notes. Blocking."""
    file = folder / UNTOLD
    if not os.path.lexists(file):
        return frozenset()
    return frozenset(str(each) for note in notes(file) for each in note) or frozenset(("",))
