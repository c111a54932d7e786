"""How the versions of mngr differ, as data: the newest dialect that is not newer than the mngr at hand."""

import re
from dataclasses import dataclass

VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Dialect:
    since: tuple[int, int, int]
    #: the verb that copies files out; `pull` knows directories only
    copy: str
    #: `--type command -- ARGV`, or else `--command LINE`
    has_command_type: bool
    #: knows agents by ID@HOST.PROVIDER, or else by the bare id
    is_pinning: bool
    #: can stream changes to its standard output
    is_streaming: bool


DIALECTS = (
    Dialect((0, 2, 0), copy="pull", has_command_type=False, is_pinning=False, is_streaming=False),
    Dialect((0, 2, 9), copy="rsync", has_command_type=True, is_pinning=False, is_streaming=False),
    Dialect((0, 3, 0), copy="rsync", has_command_type=True, is_pinning=True, is_streaming=True),
)


def dialect_of(version: str) -> Dialect:
    """A version that can't be parsed is taken for the newest."""
    found = VERSION.search(version)
    if found is None:
        return DIALECTS[-1]
    number = (int(found[1]), int(found[2]), int(found[3]))
    return max((d for d in DIALECTS if d.since <= number), key=lambda d: d.since, default=DIALECTS[0])
