"""Parses a line of an agent's event file into log entries and token usage.

ATIF steps (claude's by mngr's converter, or any other agent's) are parsed; any other JSON is an event, and a line
that is not JSON is plain text. All input is hostile: every value is checked before use, and what is kept is bounded,
without terminal escapes and without secrets.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from supervisor.model.hindrance import Hindrance
from supervisor.model.usage import Usage
from supervisor.transcripts.redact import Open, Redactor

type Kind = Literal["say", "tool", "result", "event", "pane", "note"]
type Json = dict[str, Any]

LONGEST_TEXT = 16 * 1024
LONGEST_NAME = 200
#: The size of the cache of cleaned names: there are few tools, models and types.
MOST_NAMES = 100
#: more tokens than any message has
MOST_TOKENS = 10**9

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")

#: Recognises a hindrance by the text that an agent writes in place of an answer; the first match wins.
PROBLEMS: tuple[tuple[Hindrance, re.Pattern[str]], ...] = (
    (Hindrance.CREDIT, re.compile(r"credit balance|payment required|\b402\b", re.IGNORECASE)),
    (
        Hindrance.LOGIN,
        re.compile(r"invalid api key|/login|not logged in|oauth|authenticat|\b40[13]\b", re.IGNORECASE),
    ),
    (Hindrance.LIMIT, re.compile(r"\b429\b|rate.?limit|\blimit\b|quota", re.IGNORECASE)),
    (
        Hindrance.OVERLOAD,
        re.compile(r"^API Error|overloaded|\b5\d\d\b|server error|connection|timed? ?out", re.IGNORECASE),
    ),
)
_SYNTHETIC = "<synthetic>"
#: A limit that waiting does not lift.
_UNPAID = re.compile(r"\bbilling\b|\bpayment\b|credit balance", re.IGNORECASE)


class Entry(msgspec.Struct, frozen=True):
    """One line of an attempt's log."""

    at: str
    attempt: int
    source: str
    kind: Kind
    text: str
    data: Json


@dataclass(frozen=True, slots=True)
class Counted:
    """The usage of one message, counted once by its id."""

    id: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Word:
    """The latest result of a model call: an answer, or a hindrance by its provider."""

    problem: str = ""
    detail: str = ""


type Told = tuple[Kind, str, Json]
#: "": none
type Problem = Hindrance | Literal[""]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


class Reading:
    """Reads the lines of one source of one attempt."""

    def __init__(self, attempt: int, source: str, redactor: Redactor) -> None:
        self._attempt, self._source, self._redactor = attempt, source, redactor
        self._open = Open()
        self._names: dict[str, str] = {}
        self.counted: list[Counted] = []
        self.word: Word | None = None

    def line(self, line: bytes) -> Iterator[Entry]:
        if (told := json_of(line)) is None:
            if text := line.decode(errors="replace").strip():
                yield self.entry("event", text)
            return
        at = self.at(told)
        at = at if isinstance(at, str) and len(at) < 40 and _TIME.fullmatch(at) else now()
        for kind, text, data in self._told(told):
            yield self.entry(kind, text, data, at)

    def at(self, told: Json) -> object:
        """The line's own time."""
        return told.get("timestamp")

    def count(self, line: bytes) -> None:
        """The usage in a line whose text is read from another source."""
        for _ in self._told(json_of(line) or {}):
            pass

    def entry(self, kind: Kind, text: str, data: Json | None = None, at: str = "") -> Entry:
        return Entry(at or now(), self._attempt, self._source, kind, self.clean(text), data or {})

    def clean(self, text: str, longest: int = LONGEST_TEXT) -> str:
        """Redact before truncating, so that a truncated secret is not missed."""
        kept = text if len(text) <= longest else text[: longest + self._redactor.longest + LONGEST_NAME]
        if not kept.isprintable():
            kept = _CONTROLS.sub("", _ESCAPES.sub("", kept))
        kept = self._redactor.masked(kept, self._open)
        more = len(text) - longest
        return kept if more <= 0 else f"{kept[:longest]}… ({more} more characters)"

    def name(self, value: object) -> str:
        text = text_of(value)[:LONGEST_NAME]
        if (known := self._names.get(text)) is None:
            known = self._redactor.masked(_CONTROLS.sub("", text), Open())
            if len(self._names) < MOST_NAMES:
                self._names[text] = known
        return known

    # --- the cases

    def _told(self, told: Json) -> Iterator[Told]:
        """Cases: a step of the agent, its user, the system; results of tools; a header; anything else."""
        match told.get("type"):
            case "step":
                yield from self._step(told)
            case "observation":
                yield from self._observation(told, told.get("results"))
            case "header":
                return
            case kind:
                text = next((told[key] for key in ("message", "text", "summary") if told.get(key)), None)
                yield "event", shown(text if text is not None else told), {"type": self.name(kind)} if kind else {}

    def _step(self, told: Json) -> Iterator[Told]:
        calls = [call for call in list_of(told.get("tool_calls")) if isinstance(call, dict)]
        # mngr overwrites a step's source with the event's: then only the step's parts tell whose it is.
        is_agent = told.get("source") == "agent" or "model_name" in told or "metrics" in told or bool(calls)
        text = text_of(told.get("message"))
        if not is_agent:
            by = (
                "user"
                if told.get("source") == "user" or text_of(told.get("event_id")).endswith("-user")
                else "system"
            )
            yield "say", text, {"by": by}
            return
        model = self.name(told.get("model_name"))
        self._heard(text, model)
        self._count(told, len(calls), model)
        if text:
            yield "say", text, {"by": "agent", "model": model} if model else {"by": "agent"}
        for call in calls:
            yield "tool", shown(call.get("arguments")), {"tool": self.name(call.get("function_name"))}

    def _observation(self, told: Json, results: object) -> Iterator[Told]:
        errors = 0
        for result in list_of(results):
            if isinstance(result, dict):
                extra = dict_of(result.get("extra"))
                errors += (failed := extra.get("is_error") is True)
                yield (
                    "result",
                    shown(result.get("content")),
                    {"tool": self.name(extra.get("tool_name")), "error": failed},
                )
        if errors:
            self.counted.append(
                Counted(f"observation {text_of(told.get('event_id'))[:LONGEST_NAME]}", Usage(errors=errors))
            )

    def _heard(self, text: str, model: str) -> None:
        self.says_no(problem_in(text) if model == _SYNTHETIC else "", text)

    def says_no(self, problem: Problem, text: str = "") -> None:
        """Note the latest result: a hindrance, or without `problem` an answer."""
        detail = self._redactor.masked(_CONTROLS.sub(" ", text[:LONGEST_NAME]), Open()) if problem else ""
        self.word = Word(problem, detail)

    def _count(self, told: Json, calls: int, model: str) -> None:
        metrics = dict_of(told.get("metrics"))
        prompt, cached = tokens_of(metrics, "prompt_tokens"), tokens_of(metrics, "cached_tokens")
        usage = Usage(
            input=max(0, prompt - cached),
            output=tokens_of(metrics, "completion_tokens"),
            cached=cached,
            tool_calls=calls,
            errors=int(bool(self.word and self.word.problem)),
            model="" if model == _SYNTHETIC else model,
        )
        id_ = text_of(dict_of(told.get("extra")).get("message_id")) or text_of(told.get("event_id"))
        self.counted.append(Counted(id_[:LONGEST_NAME], usage))


def problem_in(text: str) -> Problem:
    return next((problem for problem, pattern in PROBLEMS if pattern.search(text)), "")


def refusal_of(status: object, text: str) -> Problem:
    """The hindrance for an HTTP status; without a status, for the error's text."""
    match status:
        case 402:
            return Hindrance.CREDIT
        case 401 | 403:
            return Hindrance.LOGIN
        case 429:
            return Hindrance.CREDIT if _UNPAID.search(text) else Hindrance.LIMIT
        case int() if status >= 500:
            return Hindrance.OVERLOAD
        case _:
            return problem_in(text)


def tokens_of(usage: Json, *keys: str) -> int:
    """The sum of these fields; an invalid number counts as 0."""
    values = (usage.get(key) for key in keys)
    return sum(value for value in values if isinstance(value, int) and 0 <= value <= MOST_TOKENS)


def json_of(line: bytes) -> Json | None:
    """The JSON object in a line; None if it is not one."""
    try:
        told = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return told if isinstance(told, dict) else None


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def dict_of(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def shown(value: object, depth: int = 8) -> str:
    """The texts in a JSON value, with the names of an object's fields; unescaped, so that redaction finds secrets."""
    match value:
        case str():
            return value
        case None:
            return ""
        case dict() | list() if not depth:
            return "…"
        case dict():
            return "\n".join(f"{key}: {shown(each, depth - 1)}" for key, each in list(value.items())[:100])
        case list():
            return "\n".join(shown(each, depth - 1) for each in value[:100])
        case _:
            return str(value)
