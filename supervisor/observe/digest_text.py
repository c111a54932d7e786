"""A digest as plain text, for mail: no colours, no control characters, lines of a bounded length."""

from collections.abc import Iterator, Mapping
from typing import Any

from supervisor.observe.report_text import duration, line, number

type Row = Mapping[str, Any]

_INDENT = "    "


def text(digest: Row) -> str:
    parts = [
        f"From {_moment(digest['since'])} to {_moment(digest['as_of'])}",
        _section("FINISHED", [row for each in digest["finished"] for row in _finished(each)] or ["no batch"]),
        _section("AT WORK", [_open(each) for each in digest["open"]]),
        _section("WAITS FOR YOU", [row for each in digest["parked"] for row in _parked(each)]),
        _section("ALERTS", [_alert(each) for each in digest["alerts"]]),
        _section("LOST TO PAUSES", list(_lost(digest))),
    ]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, rows: list[str]) -> str:
    return "\n".join([title, *(f"  {row}" for row in rows)]) if rows else ""


def _finished(each: Row) -> Iterator[str]:
    took, jobs = duration(each["seconds"]), _counted(each["jobs"], "job")
    yield f"{each['id']}  {each['state']}, {took}, {jobs}: {brought(each)}"
    yield f"{_INDENT}repository  {line(each['repo'])}"
    yield f"{_INDENT}tokens      {number(sum(each['tokens'].values()))}"
    if each["pull_request"]:
        yield f"{_INDENT}offered at  {line(each['pull_request'])}"
    elif each["branch"]:
        yield f"{_INDENT}branch      {line(each['branch'])}"
    yield from (f"{_INDENT}problem     {line(problem)}" for problem in each["problems"] or ())
    yield from (f"{_INDENT}- {line(step, 400)}" for step in each["next"])


def brought(each: Row) -> str:
    """`3 fixed, 1 clean`."""
    said = [f"{count} {word.replace('_', ' ')}" for word, count in each["outcomes"].items() if count]
    return ", ".join(said) or "nothing"


def _open(each: Row) -> str:
    stopped = f"; stopped: {line(each['stopped'])}" if each["stopped"] else ""
    jobs = _counted(each["jobs"], "job")
    return f"{each['id']}  {each['state']}, {each['over']} of {jobs} over, {each['at_work']} at work{stopped}"


def _parked(each: Row) -> Iterator[str]:
    yield f"{each['id']}  {line(each['test'])}"
    yield f"{_INDENT}{line(each['detail'] or 'waits for a person')}"
    if each["agent"]:
        yield f"{_INDENT}answer it: `mngr connect {each['agent']}`"


def _alert(each: Row) -> str:
    why = f" ({line(each['why'])})" if each["why"] else ""
    over = f"; over {_moment(each['resolved_at'])}{why}" if each["resolved_at"] else "; it still holds"
    return f"{_moment(each['since'])}  {line(each['message'], 400)}{over}"


def _lost(digest: Row) -> Iterator[str]:
    for each in digest["lost"]:
        times = "" if each["times"] == 1 else f", {each['times']} times"
        yield f"{duration(each['seconds'])}  {line(each['subject'])}: {line(each['reason'])}{times}"


def _moment(at: str) -> str:
    return f"{at[:16].replace('T', ' ')} UTC"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
