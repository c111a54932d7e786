"""`codex`: OpenAI's Codex CLI, by mngr's plugin for it.

Theory of operation. codex is a server that does the work and a screen that shows it, each in its own tmux window of
the agent. The server appends every session to a rollout file; mngr copies the lines of the main session every second.
A line records one response, one call or one turn; a turn that ends in an error has the status of its provider. mngr
has no marker file for a codex turn: the last lines tell whether a turn is in progress. A permission prompt is seen
on the screen, or else reported by mngr.

Tokens, calls and failures are counted line by line, each by an id. When codex has stopped, the rest is counted from
the rollout files, which exist for subagents, too. The screen requests a session title, which is in no rollout: the
server's log has the tokens of every response, so those of sessions without a rollout are counted from there.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from supervisor.kinds.kind import ESCAPE, PANE, Detour, Kind, Login, Program, Start, Transcript
from supervisor.model.hindrance import Hindrance
from supervisor.model.share import MOST_MINUTES, WindowShare
from supervisor.model.usage import Usage
from supervisor.transcripts.entries import (
    LONGEST_NAME,
    Counted,
    Json,
    Reading,
    Told,
    dict_of,
    json_of,
    list_of,
    number_of,
    shown,
    text_of,
    tokens_of,
)
from supervisor.transcripts.redact import Redactor
from supervisor.transcripts.refusals import PHRASES, Phrase
from supervisor.transcripts.tail import end_of, lines_of, start_of

OWN, CONVERTED = "logs/codex_transcript", "codex/common_transcript"
RAW, SERVER_LOG = f"{OWN}/events.jsonl", "app_server.log"
HOME = "plugin/codex/home"
SESSIONS = f"{HOME}/sessions"
MOST_ROLLOUTS = 200
MOST_CALLS = 1000
#: the percentage of a window that is used up
ALL_PERCENT = 100
#: the limit of the account, beside those of single models
OF_ALL_MODELS = (None, "codex")
#: the most windows that are remembered of an account
MOST_WINDOWS = 4
BEGINS = re.compile(rb'"payload":\{"type":"task_started"')
ENDS = re.compile(rb'"payload":\{"type":"(?:task_complete|turn_aborted)"')
#: found in each line of a rollout that counts
COUNTS = re.compile(rb'"(?:token_\w+|function_call|custom_tool_call|item_completed|task_complete)"')
#: how texts begin that codex inserts before the first user message
INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<skill", "<permissions")
#: how the server's log records a response; the log is formatted for a terminal
RESPONSE = re.compile(
    r"codex_otel\.log_only: .*?event\.kind=response\.completed input_token_count=(?P<input>\d+) "
    r"output_token_count=(?P<output>\d+)(?: cached_token_count=(?P<cached>\d+))?.*? event\.timestamp=(?P<at>\S+) "
    r"conversation\.id=(?P<thread>[0-9a-f-]{36})"
)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")

#: Without permission prompts, and without codex's own sandbox, in which it could neither commit nor publish.
SKIPS = ("-c", 'approval_policy="never"', "-c", 'sandbox_mode="danger-full-access"')
#: An unattended agent connects only to its model.
UNATTENDED = ("-c", "analytics.enabled=false", "-c", "features.plugins=false", "-c", "features.apps=false")
#: codex reads its API key from its own file, which mngr links to the user's, not from the environment. So the key is
#: passed to `codex login` on standard input, and stays in this agent's file.
LOG_IN = f"""home=$MNGR_AGENT_STATE_DIR/{HOME}
if [ -n "${{OPENAI_API_KEY:-}}" ]; then
  rm -f "$home/auth.json"
  printenv OPENAI_API_KEY | CODEX_HOME="$home" codex login --with-api-key
fi"""
#: Denies what it asks for. A late screen asks about hooks before that, which mngr answers only at the start.
REFUSE = f"""pane=$({PANE})
( for _ in $(seq 40); do
  case $(tmux capture-pane -p -t "$pane") in
    *"esc to cancel"*) tmux send-keys -t "$pane" Escape; exit ;;
    *"Hooks need review"*) tmux send-keys -t "$pane" Escape ;;
  esac
  sleep 0.5
done; {ESCAPE} )"""


class Lines(Reading):
    """Reads the lines of a rollout."""

    def __init__(self, attempt: int, source: str, redactor: Redactor, phrases: tuple[Phrase, ...] = PHRASES) -> None:
        super().__init__(attempt, source, redactor, phrases)
        self._model, self._calls = "", dict[str, str]()
        self._has_failed = False
        #: when the last of its windows that are used up is granted again; 0: none is known to be used up
        self._resets_at = 0.0

    def _told(self, told: Json) -> Iterator[Told]:
        """Cases: the model; messages, calls and results; the end of a command or a turn, and windows."""
        payload = dict_of(told.get("payload"))
        self.counted += spent(told, self._model)
        match told.get("type"):
            case "turn_context":
                self._model = self.name(payload.get("model"))
            case "response_item":
                yield from self._item(payload)
            case "event_msg":
                yield from self._event(payload)

    def _item(self, item: Json) -> Iterator[Told]:
        match item.get("type"):
            case "message":
                yield from self._message(text_of(item.get("role")), _text(item.get("content")))
            case "function_call" | "custom_tool_call":
                tool, call = self.name(item.get("name")), self.name(item.get("call_id"))
                self._remember(call, tool)
                given = item.get("arguments") if "arguments" in item else item.get("input")
                parsed = json_of(given.encode(errors="replace")) if isinstance(given, str) else None
                yield "tool", shown(given if parsed is None else parsed), {"tool": tool}
            case "function_call_output" | "custom_tool_call_output":
                tool = self._calls.pop(self.name(item.get("call_id")), "")
                yield "result", _text(item.get("output")), {"tool": tool, "error": self._has_failed}
                self._has_failed = False

    def _message(self, role: str, text: str) -> Iterator[Told]:
        if role == "assistant" and text:
            self.answered()
            yield "say", text, {"by": "agent", "model": self._model} if self._model else {"by": "agent"}
        elif role == "user" and not text.lstrip().startswith(INJECTED):
            yield "say", text, {"by": "user"}

    def _event(self, event: Json) -> Iterator[Told]:
        match event.get("type"):
            case "item_completed":
                self._has_failed = self._has_failed or _has_failed(event)
            case "task_complete":
                error = dict_of(event.get("error"))
                if text := text_of(error.get("message")):
                    self._refused(error.get("codex_error_info"), text)
                    yield "say", text, {"by": "system"}
            case "token_count":
                self._windows(dict_of(event.get("rate_limits")))
            case "turn_aborted":
                yield "event", f"turn aborted: {shown(event.get('reason'))}", {"type": "turn_aborted"}

    def _refused(self, info: object, text: str) -> None:
        """Cases: the error has a name; a status of the provider; only a text. The report on its windows tells when
        one that is used up is granted again."""
        name = info if isinstance(info, str) else ""
        statuses = (dict_of(each).get("http_status_code") for each in dict_of(info).values())
        self.refused(text, status=next((status for status in statuses if status is not None), None), name=name)
        if self.word is not None and self.word.problem == Hindrance.WINDOW and not self.word.until:
            self.word = replace(self.word, until=self._resets_at)

    def _windows(self, limits: Json) -> None:
        for window in (dict_of(limits.get("primary")), dict_of(limits.get("secondary"))):
            used, minutes, at, left = (
                number_of(window.get(key))
                for key in ("used_percent", "window_minutes", "resets_at", "resets_in_seconds")
            )
            ends = at if at is not None else self._now + left if left is not None else 0.0
            if used is not None and used >= ALL_PERCENT:
                self._resets_at = max(self._resets_at, ends)
            if used is not None and minutes and ends and limits.get("limit_id") in OF_ALL_MODELS:
                self._uses(int(minutes), used / ALL_PERCENT, ends)

    def _uses(self, minutes: int, used: float, resets_at: float) -> None:
        if 0 < minutes <= MOST_MINUTES and (minutes in self.windows or len(self.windows) < MOST_WINDOWS):
            self.windows[minutes] = WindowShare(minutes, used, resets_at, self._now)

    def _remember(self, call: str, tool: str) -> None:
        if len(self._calls) >= MOST_CALLS:
            self._calls.pop(next(iter(self._calls)))
        self._calls[call] = tool


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text for each in list_of(content) if (text := text_of(dict_of(each).get("text"))))


def spent(told: Json, model: str = "") -> Iterator[Counted]:
    """What one line counts. Cases: a response; a call; a command that failed; a turn that ended in an error."""
    payload = dict_of(told.get("payload"))
    match told.get("type"), payload.get("type"):
        case "token_usage_record", _:
            yield Counted(_id(payload, "response_id"), usage_of(payload, model))
        case "response_item", "function_call" | "custom_tool_call":
            yield Counted(f"call {_id(payload, 'call_id')}", Usage(tool_calls=1))
        case "event_msg", "item_completed" if _has_failed(payload):
            yield Counted(f"failed {_id(dict_of(payload.get('item')), 'id')}", Usage(errors=1))
        case "event_msg", "task_complete" if dict_of(payload.get("error")).get("message"):
            yield Counted(f"turn {_id(payload, 'turn_id')}", Usage(errors=1))


def _id(payload: Json, key: str) -> str:
    return text_of(payload.get(key))[:LONGEST_NAME]


def _has_failed(event: Json) -> bool:
    ran = dict_of(event.get("item"))
    return ran.get("type") == "CommandExecution" and bool(ran.get("exit_code"))


def usage_of(record: Json, model: str = "") -> Usage:
    """The input tokens of a response include the cached ones."""
    usage = dict_of(record.get("usage"))
    cached = tokens_of(usage, "cached_input_tokens")
    return Usage(
        input=max(0, tokens_of(usage, "input_tokens") - cached),
        output=tokens_of(usage, "output_tokens"),
        cached=cached,
        model=model,
    )


def counted(folder: Path) -> list[Counted]:
    rollouts = _rollouts(folder)
    found = {each.id: each for path in rollouts for each in _counts(path) if each.id}
    known = {path.stem[-36:] for path in rollouts}
    return [*found.values(), *_logged(folder / SERVER_LOG, known)]


def _rollouts(folder: Path) -> list[Path]:
    """One file per session: `sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder / SESSIONS):
        folders.sort()
        found += [Path(place, name) for name in sorted(files) if name.startswith("rollout-")]
        if len(found) >= MOST_ROLLOUTS:
            break
    return found[:MOST_ROLLOUTS]


def _counts(path: Path) -> Iterator[Counted]:
    """An older codex reports the tokens of a response only next to their total, and repeats a total."""
    has_records, totals = False, dict[str, Counted]()
    for line in lines_of(path):
        if COUNTS.search(line) is None:
            continue
        told = json_of(line) or {}
        payload = dict_of(told.get("payload"))
        has_records |= told.get("type") == "token_usage_record"
        yield from spent(told)
        if payload.get("type") == "token_count":
            info = dict_of(payload.get("info"))
            total = f"{path.stem} {tokens_of(dict_of(info.get('total_token_usage')), 'total_tokens')}"
            totals[total] = Counted(total, usage_of({"usage": info.get("last_token_usage")}))
    yield from () if has_records else totals.values()


def _logged(path: Path, known: set[str]) -> Iterator[Counted]:
    """Responses of sessions without a rollout, from the server's log."""
    for line in lines_of(path):
        if b"response.completed" not in line:
            continue
        found = RESPONSE.search(COLOURS.sub("", line.decode(errors="replace")))
        if found is not None and found["thread"] not in known:
            read, said, cached = (int(found[key] or 0) for key in ("input", "output", "cached"))
            usage = Usage(input=max(0, read - cached), output=said, cached=cached)
            yield Counted(f"{found['thread']} {found['at']}"[:200], usage)


class Codex(Kind):
    args = SKIPS
    executable, plugin = "codex", "imbue-mngr-codex"
    hosts = ("api.openai.com", "chatgpt.com", "auth.openai.com")
    apis = ("openai",)
    login = Login(frozenset({"OPENAI_API_KEY"}), ".codex/auth.json", "codex login")
    transcript = Transcript(OWN, CONVERTED, Lines)
    dialog = re.compile(r"\benter to confirm\b|\besc to cancel\b", re.IGNORECASE)
    refusal = REFUSE
    signs = (RAW, SERVER_LOG)

    def program(self, start: Start) -> Program:
        return Program(self.name, (*UNATTENDED, *start.profile.agent_args), provision=(LOG_IN,))

    def detour(self, url: str, key: str, env: Mapping[str, str]) -> Detour:
        """It takes an address only from its own configuration, and a key only by a login (`LOG_IN`)."""
        table = f'{{name = "gate", base_url = "{url}/v1", wire_api = "responses", requires_openai_auth = true}}'
        args = ("-c", 'model_provider="gate"', "-c", f"model_providers.gate={table}")
        return Detour({"OPENAI_API_KEY": key}, args, frozenset({"CODEX_API_KEY", "OPENAI_BASE_URL"}))

    def counted(self, folder: Path) -> list[Counted]:
        return counted(folder)

    def is_amid_turn(self, folder: Path) -> bool:
        """If the last lines have no start and no end of a turn, it is in a long turn, or before its first one."""
        end, is_all = end_of(folder / RAW)
        begins, ends = ([match.start() for match in pattern.finditer(end)] or [-1] for pattern in (BEGINS, ENDS))
        if begins[-1] == ends[-1]:
            return not is_all and BEGINS.search(start_of(folder / RAW)) is not None
        return begins[-1] > ends[-1]

    def asks(self, folder: Path) -> bool | None:
        return None
