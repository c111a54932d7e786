"""Writes the page: one self-contained file in which nothing that a test has written can execute.

All text is passed to the page as JSON, by a template that escapes it, and to the document by `textContent`; the
Content-Security-Policy allows only this script and style sheet, by their hashes, and no network requests. A test's
details are compressed (gzip), and decompressed when they are opened.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from supervisor.e2e.view.detail import Filmer, detail
from supervisor.e2e.view.grouping import Grouping, group
from supervisor.e2e.view.loading import Run, TestResult, load

NAME = "view.html"


def write(
    directory: Path, *, compare: Path | None = None, tutorial: Path | None = None, to: Path | None = None
) -> Path:
    """Write the page of a run; returns where it is."""
    target = to or directory / NAME
    target.write_text(page(directory, compare=compare, tutorial=tutorial), encoding="utf-8")
    return target


def page(directory: Path, *, compare: Path | None = None, tutorial: Path | None = None) -> str:
    run = load(directory)
    other = load(compare) if compare else None
    film = _filmer()
    before = {test.nodeid: test for test in other.tests} if other else {}
    index = _index(run, other, before, group([test.last for test in run.tests], tutorial))
    index["can_film"] = film is not None
    details = (_details(test, before.get(test.nodeid), film) for test in run.tests)
    return _document(f"{run.name} · tutorial tests", index, details)


def _filmer() -> Filmer | None:
    """pyte is installed only where recordings are made; without it the page shows a note in their place."""
    try:
        from supervisor.e2e.view.frames import film
    except ImportError:
        return None
    return film


def _index(run: Run, other: Run | None, before: dict[str, TestResult], grouping: Grouping) -> dict[str, Any]:
    now = {test.nodeid for test in run.tests}
    return {
        "run": run.name,
        "unreadable": list(run.unreadable),
        "compare": other.name if other else None,
        "gone": [_summary(test) for nodeid, test in before.items() if nodeid not in now],
        "tests": [_summary(test) | {"was": _was(before.get(test.nodeid))} for test in run.tests],
        "groups": [
            {
                "id": each.id,
                "text": each.text,
                "section": list(each.section),
                "line": each.line,
                "end_line": each.end_line,
                "waiver": each.waiver,
                "tests": each.tests,
            }
            for each in grouping.groups
        ],
        "uncited": grouping.uncited,
        "stale": grouping.stale,
    }


def _summary(test: TestResult) -> dict[str, Any]:
    return {
        "nodeid": test.nodeid,
        "status": test.last.status,
        "seconds": test.last.seconds,
        "unhappy": test.last.data.get("unhappy") is True,
        "attempts": len(test.attempts),
        "casts": len(test.last.casts),
    }


def _was(test: TestResult | None) -> dict[str, Any] | None:
    return {"status": test.last.status, "seconds": test.last.seconds} if test else None


def _details(test: TestResult, before: TestResult | None, film: Filmer | None) -> list[dict[str, Any]]:
    """The last attempt first, because it is the most interesting."""
    shown = [detail(attempt, f"attempt {attempt.number}", film) for attempt in reversed(test.attempts)]
    return [*shown, detail(before.last, "other run", film)] if before else shown


def _document(title: str, index: dict[str, Any], details: Iterable[list[dict[str, Any]]]) -> str:
    script, style = (_asset(f"player.{ending}") + _asset(f"view.{ending}") for ending in ("js", "css"))
    document = _asset("view.html")
    templates = Environment(autoescape=True, trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined)
    templates.policies["json.dumps_kwargs"] = {"sort_keys": False}
    return templates.from_string(document).render(
        title=title,
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'",
        style=Markup(style),
        script=Markup(script),
        index=index,
        details=map(_packed, details),
    )


def _asset(name: str) -> str:
    return (files("supervisor.e2e.view") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _packed(data: object) -> str:
    return base64.b64encode(gzip.compress(json.dumps(data).encode(), 6, mtime=0)).decode()
