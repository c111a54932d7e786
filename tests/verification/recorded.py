"""Recordings as the test framework would leave them in a checkout; or as somebody else would lay them there."""

import json
from pathlib import Path
from typing import Any

TEST = "tests/test_term.py::test_shown"


def cast(*events: list[Any], version: int = 3, **more: Any) -> bytes:
    head = {"version": version, "term": {"cols": 40, "rows": 5}, "title": "a title", "timestamp": 1_750_000_000}
    lines = [{**head, **more}, *([0.5, *each] for each in events)]
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


GOOD = cast(["o", "hello"])


def lay(
    checkout: Path, data: bytes = GOOD, *, test: str = TEST, name: str = "tool", run: str = "r1", at: str = ""
) -> Path:
    folder = checkout / at / ".test_output" / "e2e" / run / "the-test" / "attempt-1"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps({"nodeid": test}))
    (folder / f"{name}.cast").write_bytes(data)
    return folder
