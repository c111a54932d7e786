"""Parses a line of an agent's event file into log entries and token usage.

ATIF steps (claude's by mngr's converter, or any other agent's) are parsed; any other JSON is an event, and a line
that is not JSON is plain text. All input is hostile: every value is checked before use, and what is kept is bounded,
without terminal escapes and without secrets.
"""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from supervisor.model.share import WindowShare
from supervisor.model.usage import Usage
from supervisor.transcripts.redact import Open, Redactor
from supervisor.transcripts.refusals import PHRASES, Phrase, refusal

type Kind = Literal["say", "tool", "result", "event", "pane", "note"]
type Json = dict[str, Any]

LONGEST_TEXT = 16 * 1024
LONGEST_NAME = 200
#: The size of the cache of cleaned names: there are few tools, models and types.
MOST_NAMES = 100
#: more tokens than any message has
MOST_TOKENS = 10**9
#: more than any time or percentage
MOST_NUMBER = 1e12

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")

_SYNTHETIC = "<synthetic>"


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
    #: of a hindrance: when the provider says that it serves again (0: it does not), and for which models ("": all)
    until: float = 0.0
    model: str = ""
    #: when it was said
    at: float = 0.0


type Told = tuple[Kind, str, Json]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


class Reading:
    """Reads the lines of one source of one attempt."""

    def __init__(self, attempt: int, source: str, redactor: Redactor, phrases: tuple[Phrase, ...] = PHRASES) -> None:
        self._attempt, self._source, self._redactor, self._phrases = attempt, source, redactor, phrases
        #: the time of the line that is read
        self._now = 0.0
        self._open = Open()
        self._names: dict[str, str] = {}
        self.counted: list[Counted] = []
        self.word: Word | None = None
        #: what its provider told last of the windows of its account, by their minutes
        self.windows: dict[int, WindowShare] = {}

    def line(self, line: bytes) -> Iterator[Entry]:
        if (told := json_of(line)) is None:
            if text := line.decode(errors="replace").strip():
                yield self.entry("event", text)
            return
        at = self.at(told)
        at = at if isinstance(at, str) and len(at) < 40 and _TIME.fullmatch(at) else now()
        self._now = datetime.fromisoformat(at).timestamp()
        for kind, text, data in self._told(told):
            yield self.entry(kind, text, data, at)

    def at(self, told: Json) -> object:
        """The line's own time."""
        return told.get("timestamp")

    def count(self, line: bytes) -> None:
        """The usage in a line whose text, and what its provider says, is read from another source."""
        for _ in self._told(json_of(line) or {}):
            pass
        self.word = None

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
        """Only what the program wrote itself is a refusal; a model may speak of limits, too."""
        if model == _SYNTHETIC:
            self.refused(text)
        else:
            self.answered()

    def answered(self) -> None:
        self.word = Word(at=self._now)

    def refused(self, text: str, *, status: object = None, name: str = "", retry_after: float = 0.0) -> None:
        """Note that the model's provider refused, if what it said is known as a refusal."""
        at = self._now or time.time()
        told = refusal(text, at, status=status, name=name, retry_after=retry_after, phrases=self._phrases)
        if told is None:
            self.answered()
            return
        detail = self._redactor.masked(_CONTROLS.sub(" ", text[:LONGEST_NAME]), Open())
        self.word = Word(told.problem, detail, told.until, told.model, at)

    def _count(self, told: Json, calls: int, model: str) -> None:
        metrics = dict_of(told.get("metrics"))
        prompt, cached = tokens_of(metrics, "prompt_tokens"), tokens_of(metrics, "cached_tokens")
        usage = Usage(
            input=max(0, prompt - cached),
            written=min(
                max(0, prompt - cached), tokens_of(dict_of(metrics.get("extra")), "cache_creation_input_tokens")
            ),
            output=tokens_of(metrics, "completion_tokens"),
            cached=cached,
            tool_calls=calls,
            errors=int(bool(self.word and self.word.problem)),
            model="" if model == _SYNTHETIC else model,
        )
        id_ = text_of(dict_of(told.get("extra")).get("message_id")) or text_of(told.get("event_id"))
        self.counted.append(Counted(id_[:LONGEST_NAME], usage))


def tokens_of(usage: Json, *keys: str) -> int:
    """The sum of these fields; an invalid number counts as 0."""
    values = (usage.get(key) for key in keys)
    return sum(value for value in values if isinstance(value, int) and 0 <= value <= MOST_TOKENS)


def number_of(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value <= MOST_NUMBER else None


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
