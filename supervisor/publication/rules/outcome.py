"""Parses an agent's outcome.json and the publish tool's meta.json into frozen values. Raises only Hostile.

The text is hostile. It is decoded once, then sanitized once (`_safe`: depth, numbers, strings), and only then parsed.
Fields that decide something (`changes`, `errored`, `blocked`, `tests_passing_*`) must have the right type. Other
fields of a wrong type, and unknown fields, are kept in `extra`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Literal, NoReturn

import msgspec

from supervisor.errors import Hostile
from supervisor.model.outcome import Outcome
from supervisor.model.publication import ChangeClaim, Escalation, Meta, Statement, TestRun

MAX_BYTES = 256 * 1024
MAX_DEPTH = 16
MAX_TEXT = 20_000
MAX_TITLE = 300
MAX_ITEMS = 50

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, DCS and the like, up to their terminator
    r"|\x1b[ -/]*[0-~]?"
)
#: control characters except tab and newline, and characters that change the direction of text
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def clean(text: str, most: int = MAX_TEXT) -> str:
    """The text without escape sequences and control characters, truncated to `most` characters with a mark."""
    text = _UNPRINTABLE.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))
    return text if len(text) <= most else text[: most - 1] + "…"


def parse_outcome(data: bytes) -> Statement:
    said = _decode(data, "outcome")
    if said.get("schema_version", 1) != 1:
        _refuse("outcome-version", "the outcome has a schema_version other than 1")
    reader = _Reader(said)
    return Statement(
        changes=_changes(said.get("changes")),
        errored=reader.flag("errored") or False,
        blocked=reader.deciding_text("blocked"),
        tests_passing_before=reader.flag("tests_passing_before"),
        tests_passing_after=reader.flag("tests_passing_after"),
        summary=reader.text("summary_markdown"),
        test_runs=reader.objects("test_runs", _test_run),
        escalations=reader.objects("escalations", _escalation),
        extra={name: value for name, value in said.items() if name not in reader.read},
    )


def parse_meta(data: bytes) -> Meta:
    said = _decode(data, "meta")
    reader = _Reader(said)
    words = {name: reader.text(name)[:MAX_TITLE] for name in ("head", "base", "branch", "batch", "job", "attempt")}
    return Meta(
        **words,
        rescued=said.get("rescued") is True,
        skipped=_texts(said.get("skipped")),
        unsaved=_texts(said.get("unsaved")),
        notes=_texts(said.get("notes")),
    )


def _refuse(reason: str, message: str) -> NoReturn:
    raise Hostile(message, reason=reason)


def _decode(data: bytes, part: Literal["outcome", "meta"]) -> dict[str, object]:
    if len(data) > MAX_BYTES:
        _refuse(f"{part}-too-large", f"the {part} is larger than {MAX_BYTES} bytes")
    try:
        said = _safe(msgspec.json.decode(data))
    except RecursionError:
        _refuse(f"{part}-too-deep", f"the {part} is nested too deeply")
    except (msgspec.MsgspecError, ValueError) as error:
        _refuse(f"{part}-not-json", f"the {part} is not valid JSON: {clean(str(error), MAX_TITLE)}")
    if not isinstance(said, dict):
        _refuse(f"{part}-not-an-object", f"the {part} is not a JSON object")
    return said


def _safe(value: object, depth: int = 0) -> object:
    """The same value without anything that a terminal, a database or a JSON writer can't handle."""
    if depth > MAX_DEPTH:
        raise RecursionError
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(key), MAX_TITLE): _safe(one, depth + 1) for key, one in value.items()}
        case list():
            return [_safe(one, depth + 1) for one in value]
        case bool() | None:
            return value
        case int() if -(2**63) <= value < 2**63:
            return value
        case float() if value - value == 0:  # neither infinite nor not a number
            return value
    return "a number out of range"


def _changes(said: object) -> tuple[ChangeClaim, ...]:
    if said is None:
        return ()
    if not isinstance(said, dict) or len(said) > MAX_ITEMS:
        _refuse("outcome-wrong-type", f"the outcome's changes are not an object with at most {MAX_ITEMS} kinds")
    claims = []
    for kind, claim in said.items():
        if not isinstance(claim, dict) or not isinstance(claim.get("status"), str):
            _refuse("outcome-wrong-type", f"the outcome's change {kind} has no status")
        claims.append(ChangeClaim(kind, _status(claim["status"]), _text(claim, "summary_markdown", "summary")))
    return tuple(claims)


def _status(said: str) -> Literal["SUCCEEDED", "FAILED"]:
    return "SUCCEEDED" if said == "SUCCEEDED" else "FAILED"


def _text(said: Mapping[str, object], *names: str) -> str:
    found = next((text for name in names if isinstance(text := said.get(name), str)), "")
    return str(found)


def _texts(said: object) -> tuple[str, ...]:
    listed = said if isinstance(said, list) else []
    return tuple(clean(text, MAX_TITLE) for text in listed[:MAX_ITEMS] if isinstance(text, str))


def _test_run(said: Mapping[str, object]) -> TestRun:
    return TestRun(clean(_text(said, "run_name"), MAX_TITLE), _text(said, "description_markdown", "description"))


def _escalation(said: Mapping[str, object]) -> Escalation:
    return Escalation(
        kind=clean(_text(said, "kind"), MAX_TITLE),
        title=clean(_text(said, "title"), MAX_TITLE),
        detail=_text(said, "detail_markdown", "detail"),
        locations=_texts(said.get("locations")),
    )


class _Reader:
    """Takes fields of the expected type, and records their names in `read`."""

    def __init__(self, said: Mapping[str, object]) -> None:
        self.said = said
        self.read = {"schema_version", "changes"}

    def flag(self, name: str) -> bool | None:
        self.read.add(name)
        value = self.said.get(name)
        if not isinstance(value, bool | None):
            _refuse("outcome-wrong-type", f"the outcome's {name} is neither true nor false")
        return value

    def deciding_text(self, name: str) -> str:
        if not isinstance(self.said.get(name), str | None):
            _refuse("outcome-wrong-type", f"the outcome's {name} is not a string")
        return self.text(name)

    def text(self, name: str) -> str:
        value = self.said.get(name)
        if value is None or isinstance(value, str):
            self.read.add(name)
        return value if isinstance(value, str) else ""

    def objects[T](self, name: str, build: Callable[[Mapping[str, object]], T]) -> tuple[T, ...]:
        value = self.said.get(name)
        if value is None or (isinstance(value, list) and all(isinstance(one, dict) for one in value)):
            self.read.add(name)
            return tuple(build(one) for one in (value or [])[:MAX_ITEMS])
        return ()


def claimed(report: Statement, commits: int) -> tuple[Outcome, str]:
    """The claimed outcome, and one sentence about it. A claim without commits counts as failed."""
    if report.blocked:
        return Outcome.BLOCKED, report.blocked
    if report.errored:
        return Outcome.FAILED, report.summary or "the agent gave up"
    kinds = report.succeeded_kinds
    if kinds and not commits:
        return Outcome.FAILED, f"it claims {', '.join(kinds)} but committed nothing"
    if any(kind.startswith("FIX_") for kind in kinds):
        return Outcome.FIXED, report.summary
    if kinds:
        return Outcome.IMPROVED, report.summary
    if report.tests_passing_after is False:
        return Outcome.FAILED, report.summary or "its test still fails"
    return Outcome.CLEAN, report.summary
