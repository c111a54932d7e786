"""`opencode`: OpenCode, with a model of any provider, by mngr's plugin for it.

Theory of operation. mngr's plugin runs inside of opencode and writes down each event of a message or of a part of
one as it comes; a part comes again whenever it has grown. So a text counts once it has an end, a call once it runs
and once more when it is over, and the tokens of a response once it is finished, by the id of that part. What the
plugin makes of it for `mngr transcript` is written anew after each turn and tells no tokens: on this machine
nothing is taken from it.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from supervisor.kinds.kind import ACTIVE, Kind, Login, Program, Start, Transcript
from supervisor.model.usage import Usage
from supervisor.transcripts.entries import (
    Counted,
    Json,
    Reading,
    Told,
    dict_of,
    refusal_of,
    shown,
    text_of,
    tokens_of,
)
from supervisor.transcripts.redact import Redactor
from supervisor.transcripts.tail import end_of

OWN, CONVERTED = "logs/opencode_transcript", "opencode/common_transcript"
RAW = f"{OWN}/events.jsonl"
CONFIG = "plugin/opencode/config"
#: A message of a person, which is written once more with a summary when it was answered; and one that answers.
TOLD = re.compile(rb'^\{"type":"message\.updated",(?=[^\n]*"role":"user")(?![^\n]*"summary":)', re.MULTILINE)
ANSWERS = re.compile(rb'^\{"type":"message\.updated",(?=[^\n]*"role":"assistant")', re.MULTILINE)
#: Calls that run, and turns that ended in an error: so many are remembered.
MOST_REMEMBERED = 1000
#: A night's agents are one version, and call their model and nobody else.
UNATTENDED = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}
#: mngr's own options: nothing is asked that is not denied, and the first start of many at once may take its time.
SETTINGS = {"agent_types.opencode.auto_allow_permissions": "true", "agent_ready_timeout": "60"}
#: It would install a package by npm that mngr's plugin needs for its types only; and ask its model for a title of the
#: session, which no transcript tells of. A profile's own configuration goes before this one.
PREPARE = f"""config=$MNGR_AGENT_STATE_DIR/{CONFIG}
mkdir -p "$config/node_modules"
printf '{{"packages": {{"": {{"dependencies": {{"@opencode-ai/plugin": "*"}}}}}}}}' >"$config/package-lock.json"
printf '{{"agent": {{"title": {{"disable": true}}}}, "share": "disabled"}}' >"$config/opencode.jsonc\""""


class Lines(Reading):
    """Reads the events of messages."""

    def __init__(self, attempt: int, source: str, redactor: Redactor) -> None:
        super().__init__(attempt, source, redactor)
        self._seen: dict[str, None] = {}
        self._model = ""

    def at(self, told: Json) -> object:
        """Only a message or a part itself says when it was."""
        told = dict_of(told.get("properties"))
        info = dict_of(dict_of(told.get("info")).get("time"))
        at = told.get("time", info.get("completed", info.get("created")))
        if not isinstance(at, int) or not 0 < at < 10**13:
            return None
        return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"

    def _told(self, told: Json) -> Iterator[Told]:
        properties = dict_of(told.get("properties"))
        match told.get("type"):
            case "message.updated":
                yield from self._message(dict_of(properties.get("info")))
            case "message.part.updated":
                yield from self._part(dict_of(properties.get("part")))

    def _message(self, info: Json) -> Iterator[Told]:
        """One that is answered; its end says whether the provider did."""
        if info.get("role") != "assistant":
            return
        self._model = self.name(info.get("modelID"))
        error, id_ = dict_of(info.get("error")), self.name(info.get("id"))
        if "completed" not in dict_of(info.get("time")):
            return
        if not error:
            self.says_no("")
        elif error.get("name") != "MessageAbortedError" and self._is_new(f"error {id_}"):
            data = dict_of(error.get("data"))
            text = text_of(data.get("message")) or text_of(error.get("name"))
            status = 401 if error.get("name") == "ProviderAuthError" else data.get("statusCode")
            self.says_no(refusal_of(status, f"{text} {text_of(data.get('responseBody'))}"), text)
            self.counted.append(Counted(f"error {id_}", Usage(errors=1)))
            yield "say", text, {"by": "system"}

    def _part(self, part: Json) -> Iterator[Told]:
        """Cases: words of a person, and of the model once they are whole; a call; the end of a response."""
        id_, time = self.name(part.get("id")), dict_of(part.get("time"))
        match part.get("type"):
            case "text" if not time:
                if text := text_of(part.get("text")):
                    yield "say", text, {"by": "system" if part.get("synthetic") else "user"}
            case "text" if "end" in time and self._is_new(id_):
                if text := text_of(part.get("text")):
                    yield "say", text, {"by": "agent", "model": self._model} if self._model else {"by": "agent"}
            case "tool":
                yield from self._tool(id_, self.name(part.get("tool")), dict_of(part.get("state")))
            case "step-finish":
                self.counted.append(Counted(id_, usage_of(dict_of(part.get("tokens")), self._model)))

    def _tool(self, id_: str, tool: str, state: Json) -> Iterator[Told]:
        status = text_of(state.get("status"))
        if status not in {"running", "completed", "error"}:
            return
        if self._is_new(f"call {id_}"):
            yield "tool", shown(state.get("input")), {"tool": tool}
        if status != "running" and self._is_new(f"result {id_}"):
            failed = status == "error" or bool(dict_of(state.get("metadata")).get("exit"))
            self.counted.append(Counted(f"call {id_}", Usage(tool_calls=1, errors=int(failed))))
            came = state.get("error" if status == "error" else "output")
            yield "result", shown(came), {"tool": tool, "error": failed}

    def _is_new(self, id_: str) -> bool:
        if id_ in self._seen:
            return False
        if len(self._seen) >= MOST_REMEMBERED:
            self._seen.pop(next(iter(self._seen)))
        self._seen[id_] = None
        return True


def usage_of(tokens: Json, model: str) -> Usage:
    """What was thought is apart from what was said, and what was written to a cache from what was read."""
    cache = dict_of(tokens.get("cache"))
    return Usage(
        input=tokens_of(tokens, "input") + tokens_of(cache, "write"),
        output=tokens_of(tokens, "output", "reasoning"),
        cached=tokens_of(cache, "read"),
        model=model,
    )


class OpenCode(Kind):
    executable, plugin = "opencode", "imbue-mngr-opencode"
    login = Login(
        frozenset(
            {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "OPENCODE_API_KEY"}
        ),
        ".local/share/opencode/auth.json",
        "opencode auth login",
    )
    transcript = Transcript(OWN, CONVERTED, Lines)
    signs = (RAW, ACTIVE)

    def program(self, start: Start) -> Program:
        env = self.environment(start.provider)
        return Program(self.name, start.profile.agent_args, provision=(PREPARE,), env=env, settings=SETTINGS)

    def is_amid_turn(self, folder: Path) -> bool:
        """Its mark comes when it asks its model, which may be a while after it was told something."""
        if super().is_amid_turn(folder):
            return True
        end, _ = end_of(folder / RAW)
        words = [match.end() for match in TOLD.finditer(end)]
        return bool(words) and ANSWERS.search(end, words[-1]) is None

    def environment(self, provider: str) -> Mapping[str, str]:
        return UNATTENDED
