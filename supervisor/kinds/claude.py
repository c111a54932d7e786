"""`claude`: Claude Code, by mngr's plugin for it.

Theory of operation. Log entries are read from claude's own transcript, which mngr assembles every second, one entry
per block of a message. mngr also converts the transcript to ATIF steps, but only every five seconds, and it holds a
message back until the next one or the end of the turn; so the log does not wait for them. Tokens are counted from
the ATIF steps, because those are complete. When the agent has stopped, what both have missed (the last message of a
turn, and subagents) is counted from claude's session files. All three sources give a message the same id, so no
message is counted twice.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from supervisor.kinds.kind import ACTIVE, Detour, Doubt, Kind, Login, Program, Start, Transcript
from supervisor.model.profile import Profile
from supervisor.model.usage import Usage
from supervisor.ports import AgentOrder
from supervisor.transcripts.entries import (
    Counted,
    Json,
    Reading,
    Told,
    dict_of,
    json_of,
    list_of,
    shown,
    text_of,
    tokens_of,
)
from supervisor.transcripts.redact import Redactor
from supervisor.transcripts.refusals import PHRASES, Phrase
from supervisor.transcripts.tail import lines_of

#: the model of what claude writes itself, in place of an answer
SYNTHETIC = "<synthetic>"
#: Cannot collide with an event source: `logs` below `events` is reserved by mngr.
OWN, CONVERTED = "logs/claude_transcript", "claude/common_transcript"
RAW = f"{OWN}/events.jsonl"
#: Below an agent's state directory: one file per session, and nested ones for subagents.
SESSIONS = "plugin/claude/anthropic/projects"
MOST_SESSIONS, DEEPEST = 200, 4
#: The limit of tool calls that are remembered until their result.
MOST_CALLS = 1000
#: The transcript records a typed slash command as several of these: they are not messages.
PLUMBING = ("<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-caveat>")

#: The option that skips all permission prompts.
SKIPS = "--dangerously-skip-permissions"
#: An unattended agent does not update itself, connects only to its model, and does not ask it for a session title:
#: no transcript would have the tokens of that.
UNATTENDED = {
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
}
#: logins that take precedence over a key, and providers that are not called through ANTHROPIC_BASE_URL
OTHER_WAYS = frozenset(
    {
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
    }
)
#: At its start claude asks whether to use the API key of its environment, unless its configuration has approved the
#: end of that key. mngr approves only keys on its command line, where no secret belongs.
APPROVE_KEY = r"""config=${CLAUDE_CONFIG_DIR:-}/.claude.json end=$(printf %s "${ANTHROPIC_API_KEY:-}" | tail -c 20)
case $end in '' | *[!A-Za-z0-9_.-]*) ;; *) if [ -f "$config" ]; then
  known=$(sed '$d' "$config")
  printf '%s,\n"customApiKeyResponses": {"approved": ["%s"], "rejected": []}\n}\n' "$known" "$end" >"$config"
fi ;; esac"""


#: mngr's background tasks (they assemble transcripts) work on claude's files, so they run inside the walls, too.
#: They ask tmux whether the agent's session exists; inside the walls it does as long as anything runs.
TASKS, ALONE = "commands/claude_background_tasks.sh", "commands/alone"
ENCLOSE_TASKS = f"""cd "$MNGR_AGENT_STATE_DIR" && mkdir -p {ALONE} && mv {TASKS} {ALONE}/tasks &&
printf '#!/bin/sh\n' >{TASKS} && printf '#!/bin/sh\necho agent\n' >{ALONE}/tmux && chmod 755 {TASKS} {ALONE}/tmux"""
START_BOTH = f"""alone=$MNGR_AGENT_STATE_DIR/{ALONE}
PATH=$alone:$PATH bash "$alone/tasks" agent >/dev/null 2>&1 &
exec claude "$@\""""


class Lines(Reading):
    """Reads the lines of claude's own transcript; does not count tokens."""

    def __init__(self, attempt: int, source: str, redactor: Redactor, phrases: tuple[Phrase, ...] = PHRASES) -> None:
        super().__init__(attempt, source, redactor, phrases)
        self._calls: dict[str, str] = {}

    def _told(self, told: Json) -> Iterator[Told]:
        """Cases: blocks of an answer; input to claude; claude's bookkeeping."""
        message = dict_of(told.get("message"))
        match told.get("type"):
            case "assistant":
                self._served(told, message)
                yield from self._answer(message)
            case "user":
                yield from self._given(told, message.get("content"))

    def _served(self, told: Json, message: Json) -> None:
        """claude writes an error in place of an answer, with its name and status; an older one only its text."""
        if told.get("isApiErrorMessage") is True or text_of(message.get("model")) == SYNTHETIC:
            said = "\n".join(map(_text, _blocks(message.get("content"))))
            self.refused(said, status=told.get("apiErrorStatus"), name=text_of(told.get("error")))
        else:
            self.answered()

    def _answer(self, message: Json) -> Iterator[Told]:
        model = self.name(message.get("model"))
        for block in _blocks(message.get("content")):
            if block.get("type") == "tool_use":
                tool = self.name(block.get("name"))
                self._remember(text_of(block.get("id")), tool)
                yield "tool", shown(block.get("input")), {"tool": tool}
            elif text := _text(block):
                yield "say", text, {"by": "agent", "model": model} if model else {"by": "agent"}

    def _given(self, told: Json, content: object) -> Iterator[Told]:
        blocks = _blocks(content)
        text = "\n".join(filter(None, map(_text, blocks)))
        if told.get("isCompactSummary"):
            yield "say", "Context compaction performed", {"by": "system"}
        elif text and not text.lstrip().startswith(PLUMBING):
            yield "say", text, {"by": "system" if told.get("isMeta") else "user"}
        for block in blocks:
            if block.get("type") == "tool_result":
                came = "\n".join(map(_text, _blocks(block.get("content"))))
                tool = self._calls.pop(text_of(block.get("tool_use_id")), "")
                yield "result", came, {"tool": tool, "error": block.get("is_error") is True}

    def _remember(self, call: str, tool: str) -> None:
        if len(self._calls) >= MOST_CALLS:
            self._calls.pop(next(iter(self._calls)))
        self._calls[call] = tool


def _blocks(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [{"type": "text", "text": each} if isinstance(each, str) else dict_of(each) for each in list_of(content)]


def _text(block: Json) -> str:
    match block.get("type"):
        case "text":
            return text_of(block.get("text"))
        case "image":
            return "[image omitted]"
        case _:
            return ""


def counted(folder: Path) -> list[Counted]:
    """A response has one line per block, each repeating its usage; several files may contain the same response."""
    found: dict[str, Counted] = {}
    for path in [folder / RAW, *_sessions(folder)]:
        for id_, usage in _responses(path).items():
            found.setdefault(id_, Counted(id_, usage))
    return list(found.values())


def _sessions(folder: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, files in os.walk(folder / SESSIONS):
        depth = len(Path(place).relative_to(folder / SESSIONS).parts)
        folders[:] = sorted(folders)[:MOST_SESSIONS] if depth < DEEPEST else []
        found += [Path(place, name) for name in sorted(files) if name.endswith(".jsonl")]
        if len(found) >= MOST_SESSIONS:
            break
    return found[:MOST_SESSIONS]


def _responses(path: Path) -> dict[str, Usage]:
    found: dict[str, Usage] = {}
    for line in lines_of(path):
        message = dict_of((json_of(line) or {}).get("message")) if b'"usage"' in line else {}
        if message.get("role") == "assistant" and (id_ := text_of(message.get("id"))):
            calls = sum(dict_of(block).get("type") == "tool_use" for block in list_of(message.get("content")))
            found[id_] = (found.get(id_) or _tokens(message)) + Usage(tool_calls=calls)
    return found


def _tokens(message: dict[str, Any]) -> Usage:
    usage, model = dict_of(message.get("usage")), text_of(message.get("model"))
    return Usage(
        input=tokens_of(usage, "input_tokens", "cache_creation_input_tokens"),
        written=tokens_of(usage, "cache_creation_input_tokens"),
        output=tokens_of(usage, "output_tokens"),
        cached=tokens_of(usage, "cache_read_input_tokens"),
        model="" if model == SYNTHETIC else model[:200],
    )


class Claude(Kind):
    args = (SKIPS,)
    executable, plugin = "claude", "imbue-mngr-claude"
    hosts = ("api.anthropic.com",)
    apis = ("anthropic",)
    has_walls = True
    login = Login(
        frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}),
        ".claude/.credentials.json",
        "claude /login",
    )
    transcript = Transcript(OWN, CONVERTED, Lines, is_counted_converted=True)
    #: Every dialog ends with one of these; without a dialog, the last line of the screen is claude's status line.
    dialog = re.compile(r"\bEsc to (?:cancel|exit)\b|\bEnter to (?:continue|confirm)\b")
    signs = (RAW, ACTIVE)

    def program(self, start: Start) -> Program:
        env = self.environment(start.provider)
        return Program(self.name, start.profile.agent_args, provision=(APPROVE_KEY,), env=env)

    def environment(self, provider: str) -> Mapping[str, str]:
        """As root claude refuses to skip permissions, except in a sandbox. The hosts that a provider creates are
        containers, so they count as one."""
        is_root = provider != "local" or os.geteuid() == 0
        return {**UNATTENDED, **({"IS_SANDBOX": "1"} if is_root else {})}

    def detour(self, url: str, key: str, env: Mapping[str, str]) -> Detour:
        return replace(super().detour(url, key, env), without=OTHER_WAYS)

    def walled(self, order: AgentOrder, keeper: tuple[str, ...]) -> AgentOrder:
        """It gets copies of the user's claude resources, because links would lead out of the walls."""
        settings = {
            "agent_types.claude.command": shlex.join((*keeper, "sh", "-c", START_BOTH, "claude")),
            "agent_types.claude.symlink_user_resources": "false",
        }
        provision = (*order.provision, f"( {ENCLOSE_TASKS} )")
        return replace(order, settings={**order.settings, **settings}, provision=provision)

    def counted(self, folder: Path) -> list[Counted]:
        return counted(folder)

    def doubts(self, profile: Profile, is_root: bool) -> Iterator[Doubt]:
        if not is_root or SKIPS not in profile.agent_args:
            return
        if profile.env.get("IS_SANDBOX", "1").lower() not in {"1", "true", "yes", "on"}:
            hint = 'run the daemon as its own user, or set IS_SANDBOX = "1" in `env` if this machine is a sandbox'
            yield Doubt("claude refuses to skip permissions for root", hint)
            return
        hint = "run the daemon as its own user, unless this machine is a sandbox"
        yield Doubt("its agents run as root without permission prompts", hint)
