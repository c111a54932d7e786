"""`opencode`: OpenCode, with a model of any provider, by mngr's plugin for it.

Theory of operation. mngr's plugin runs inside opencode and appends every event of a message or of a part of one. A
part is repeated whenever it has grown; so a text is logged when it has ended, a call when it starts and when it ends,
and the tokens of a response are counted when it has finished, by the id of that part. The plugin's output for
`mngr transcript` is rewritten after each turn and has no tokens: it is not read on this machine.

opencode is a server that does the work and a screen that shows it. A screen that is opened after a question was asked
does not show it, so no key answers it. The question is denied at the server.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from supervisor.kinds.kind import ACTIVE, ESCAPE, Detour, Kind, Login, Program, Start, Transcript
from supervisor.model.usage import Usage
from supervisor.ports import AgentOrder
from supervisor.transcripts.entries import (
    Counted,
    Json,
    Reading,
    Told,
    dict_of,
    json_of,
    shown,
    text_of,
    tokens_of,
)
from supervisor.transcripts.redact import Redactor
from supervisor.transcripts.refusals import PHRASES, Phrase
from supervisor.transcripts.tail import end_of

OWN, CONVERTED = "logs/opencode_transcript", "opencode/common_transcript"
RAW = f"{OWN}/events.jsonl"
CONFIG = "plugin/opencode/config"
#: the variable that holds a configuration
CONFIG_CONTENT = "OPENCODE_CONFIG_CONTENT"
#: A user's message, which is repeated with a summary once it is answered; and the model's.
TOLD = re.compile(rb'^\{"type":"message\.updated",(?=[^\n]*"role":"user")(?![^\n]*"summary":)', re.MULTILINE)
ANSWERS = re.compile(rb'^\{"type":"message\.updated",(?=[^\n]*"role":"assistant")', re.MULTILINE)
#: The limit of running calls, and of failed turns, that are remembered.
MOST_REMEMBERED = 1000
#: the most digits of a number of seconds that is accepted
MOST_DIGITS = 8
#: An unattended agent does not update itself, and connects only to its model.
UNATTENDED = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}
#: Settings of mngr: allow what is not denied without asking; and a long deadline, as many agents may start at once.
SETTINGS = {"agent_types.opencode.auto_allow_permissions": "true", "agent_ready_timeout": "60"}
#: Keeps opencode from installing an npm package that mngr's plugin needs only for its types, and from asking the
#: model for a session title, whose tokens no transcript has. A profile's own configuration takes precedence.
PREPARE = f"""config=$MNGR_AGENT_STATE_DIR/{CONFIG}
mkdir -p "$config/node_modules"
printf '{{"packages": {{"": {{"dependencies": {{"@opencode-ai/plugin": "*"}}}}}}}}' >"$config/package-lock.json"
printf '{{"agent": {{"title": {{"disable": true}}}}, "share": "disabled"}}' >"$config/opencode.jsonc\""""

#: Denies every question that its server reports. If the server can't be reached, or has no question, a key on its
#: screen may still deny it.
REFUSE = f"""port=$(head -c 5 "$MNGR_AGENT_STATE_DIR/opencode_server_port" 2>/dev/null | tr -cd 0-9)
server=http://127.0.0.1:$port/permission
ask() {{ [ -n "$port" ] && curl --fail --silent --noproxy '*' --max-time 10 "$@"; }}
asked() {{ ask "$server" | head -c 1000000 | grep -oE '"id":"per_[A-Za-z0-9]+"' | head -n 50 | cut -d '"' -f 4; }}
questions=$(asked)
for each in $questions; do
  ask --header 'content-type: application/json' --data '{{"reply": "reject"}}' "$server/$each/reply" >/dev/null
done
[ -n "$questions" ] && [ -z "$(asked)" ] || {{ {ESCAPE}; }}"""


class Lines(Reading):
    """Reads the events of messages."""

    def __init__(self, attempt: int, source: str, redactor: Redactor, phrases: tuple[Phrase, ...] = PHRASES) -> None:
        super().__init__(attempt, source, redactor, phrases)
        self._seen: dict[str, None] = {}
        self._model = ""

    def at(self, told: Json) -> object:
        """Only a message or a part has a time of its own."""
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
        """The model's message; its end says whether the provider failed."""
        if info.get("role") != "assistant":
            return
        self._model = self.name(info.get("modelID"))
        error, id_ = dict_of(info.get("error")), self.name(info.get("id"))
        if "completed" not in dict_of(info.get("time")):
            return
        if not error:
            self.answered()
        elif error.get("name") != "MessageAbortedError" and self._is_new(f"error {id_}"):
            data = dict_of(error.get("data"))
            text = text_of(data.get("message")) or text_of(error.get("name"))
            status = 401 if error.get("name") == "ProviderAuthError" else data.get("statusCode")
            wait = dict_of(data.get("responseHeaders")).get("retry-after")
            seconds = float(wait) if isinstance(wait, str) and wait.isdecimal() and len(wait) < MOST_DIGITS else 0.0
            said = f"{text} {text_of(data.get('responseBody'))}"
            self.refused(said, status=status, retry_after=seconds)
            self.counted.append(Counted(f"error {id_}", Usage(errors=1)))
            yield "say", text, {"by": "system"}

    def _part(self, part: Json) -> Iterator[Told]:
        """Cases: a user's text, or the model's once it is complete; a call; the end of a response."""
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
    """opencode counts reasoning apart from output, and cache writes apart from input."""
    cache = dict_of(tokens.get("cache"))
    return Usage(
        input=tokens_of(tokens, "input") + tokens_of(cache, "write"),
        written=tokens_of(cache, "write"),
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
    apis = ("anthropic", "openai")
    has_walls = True
    transcript = Transcript(OWN, CONVERTED, Lines)
    refusal = REFUSE
    signs = (RAW, ACTIVE)

    def program(self, start: Start) -> Program:
        env = self.environment(start.provider)
        return Program(self.name, start.profile.agent_args, provision=(PREPARE,), env=env, settings=SETTINGS)

    def walled(self, order: AgentOrder, keeper: tuple[str, ...]) -> AgentOrder:
        """Walls for its server and for its screen: they talk over a local port. mngr splits the command at blanks."""
        command = {"agent_types.opencode.command": " ".join((*keeper, self.executable))}
        return replace(order, settings={**order.settings, **command})

    def is_amid_turn(self, folder: Path) -> bool:
        """Its marker file appears only when it calls its model, which may be a while after it got a message."""
        if super().is_amid_turn(folder):
            return True
        end, _ = end_of(folder / RAW)
        words = [match.end() for match in TOLD.finditer(end)]
        return bool(words) and ANSWERS.search(end, words[-1]) is None

    def detour(self, url: str, key: str, env: Mapping[str, str]) -> Detour:
        """Its own configuration takes precedence over variables: so the address is put into that."""
        config = json_of(env.get(CONFIG_CONTENT, "{}").encode(errors="replace")) or {}
        providers = dict_of(config.get("provider"))
        for name in self.apis:
            options = {**dict_of(dict_of(providers.get(name)).get("options")), "baseURL": f"{url}/v1", "apiKey": key}
            providers[name] = {**dict_of(providers.get(name)), "options": options}
        content = msgspec.json.encode({**config, "provider": providers}).decode()
        return Detour({"ANTHROPIC_API_KEY": key, "OPENAI_API_KEY": key, CONFIG_CONTENT: content})

    def environment(self, provider: str) -> Mapping[str, str]:
        return UNATTENDED
