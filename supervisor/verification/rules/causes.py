"""Whether tests fail for one reason: why one failed, in words that are the same for each that failed for that."""

import re

_PLACE = re.compile(r" \([^()]*:\d+\)$")
_VARYING = re.compile(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{7,40}\b|/[^\s'\":]*/")
_NUMBER = re.compile(r"\d+(\.\d+)?")
_ASSERTIONS = ("assert ", "AssertionError")
MOST = 200


def cause_of(said: str) -> str:
    """Two assertions with other numbers are two reasons; of an error, numbers and places say nothing."""
    words = _VARYING.sub("…", _PLACE.sub("", " ".join(said.split())))
    return (words if words.startswith(_ASSERTIONS) else _NUMBER.sub("…", words))[:MOST]
