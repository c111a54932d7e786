"""The cause of a failed test, in words that are the same for all tests that fail for the same reason."""

import re

_PLACE = re.compile(r" \([^()]*:\d+\)$")
_VARYING = re.compile(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{7,40}\b|/[^\s'\":]*/")
_NUMBER = re.compile(r"\d+(\.\d+)?")
_ASSERTIONS = ("assert ", "AssertionError")
MOST = 200


def cause_of(said: str) -> str:
    """Assertions with different numbers have different causes; in an error, numbers and places do not matter."""
    words = _VARYING.sub("…", _PLACE.sub("", " ".join(said.split())))
    return (words if words.startswith(_ASSERTIONS) else _NUMBER.sub("…", words))[:MOST]
