"""What the lines that a real program has written come to: entries, tokens, and what its provider said no with."""

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from supervisor.kinds import kind_of
from supervisor.model.hindrance import Hindrance
from supervisor.model.share import WindowShare
from supervisor.model.usage import Usage
from supervisor.transcripts.redact import Redactor
from supervisor.transcripts.tail import LAST_BYTES
from tests.adapters.log_box import ATTEMPT, KEY, Box
from tests.kinds.test_contract import recorded

DATA = Path(__file__).parent.parent / "data" / "transcripts"

type Row = tuple[str, str, dict[str, Any]]


def read(name: str) -> tuple[list[Row], Usage, list[str]]:
    """The entries of all lines, what they count, and each new last word of the provider."""
    told = kind_of(name).transcript
    assert told is not None
    reading = told.reading(1, told.own, Redactor([]))
    rows: list[Row] = []
    words: list[str] = []
    for line in recorded(kind_of(name)):
        rows += [(entry.kind, entry.text, entry.data) for entry in reading.line(line.encode())]
        word = reading.word.problem if reading.word else ""
        if word != (words or [""])[-1]:
            words.append(word)
    by_id = {counted.id: counted.usage for counted in reading.counted}
    return rows, sum(by_id.values(), Usage()), words


def agent(text: str, model: str) -> Row:
    return "say", text, {"by": "agent", "model": model}


def user(text: str) -> Row:
    return "say", text, {"by": "user"}


def test_codex() -> None:
    rows, usage, words = read("codex")
    model = "gpt-6.1-sol"
    call = 'const r = await tools.exec_command({cmd:"echo hi"}); text(r.output)'
    assert rows[:8] == [
        user("do it"),
        agent("I say 1.", model),
        ("tool", call, {"tool": "exec"}),
        ("result", "Script completed\nWall time 0.2 seconds\nOutput:\n\nhi\n", {"tool": "exec", "error": False}),
        agent("I say 3.", model),
        ("tool", call, {"tool": "exec"}),
        ("result", "Script completed\nWall time 0.1 seconds\nOutput:\n\nhi\n", {"tool": "exec", "error": False}),
        agent("I say 4.", model),
    ]
    assert [text for kind, text, data in rows if data.get("by") == "user"][1:] == [
        f"again {mode}" for mode in ("429", "401", "usage", "503", "quota", "402")
    ]
    # of three responses that read 1001, 1003 and 1004, of which 107, 121 and 128 from a cache
    assert usage == Usage(input=3008 - 356, output=84, cached=356, tool_calls=2, errors=6, model=model)
    assert words == [
        Hindrance.RATE,
        Hindrance.LOGIN,
        Hindrance.WINDOW,
        Hindrance.OVERLOAD,
        Hindrance.CREDIT,
    ]


def test_opencode() -> None:
    rows, usage, words = read("opencode")
    assert rows[:2] == [user("do it"), agent("I say 2.", "model-1")] or rows[0] == user("do it")
    tools = [row for row in rows if row[0] in {"tool", "result"}]
    assert [kind for kind, _, _ in tools] == ["tool", "result"]
    assert tools[0][2] == {"tool": "bash"}
    assert tools[1][1:] == ("hello\nwrote\n", {"tool": "bash", "error": False})
    assert (usage.tokens, usage.tool_calls, usage.model) == (1028, 1, "model-1")
    assert (usage.input, usage.output, usage.cached) == (888, 26, 114)
    assert words == [Hindrance.RATE, Hindrance.LOGIN, Hindrance.CREDIT]


@pytest.mark.parametrize(
    ("lines", "is_amid"), [(0, False), (4, False), (5, True), (26, True), (27, False), (28, True)]
)
def test_a_turn_of_codex_is_told_by_its_lines(tmp_path: Path, lines: int, is_amid: bool) -> None:
    """It waits before its first turn and after each, an error included."""
    codex = kind_of("codex")
    assert codex.transcript is not None
    path = codex.transcript.path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{line}\n" for line in recorded(codex)[:lines]))
    assert codex.is_amid_turn(tmp_path) is is_amid


def test_a_turn_of_opencode_has_begun_when_it_was_told_something(tmp_path: Path) -> None:
    """Its mark comes later. What it writes down about those words when they are answered is nothing new."""
    opencode = kind_of("opencode")
    assert opencode.transcript is not None
    path, lines = opencode.transcript.path(tmp_path), recorded(opencode)
    path.parent.mkdir(parents=True)
    seen = []
    for end in range(len(lines) + 1):
        path.write_text("".join(f"{line}\n" for line in lines[:end]))
        seen.append(opencode.is_amid_turn(tmp_path))
    told = [n for n, line in enumerate(lines, 1) if '"role":"user"' in line and '"summary"' not in line]
    assert [n for n in range(1, len(seen)) if seen[n] and not seen[n - 1]] == told
    assert not seen[-1]
    (tmp_path / "active").touch()
    assert opencode.is_amid_turn(tmp_path)


def test_a_codex_that_was_told_much_before_its_first_turn_waits_for_that(tmp_path: Path) -> None:
    codex = kind_of("codex")
    assert codex.transcript is not None
    path = codex.transcript.path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{line}\n" for line in recorded(codex)[:4]) + "x" * (LAST_BYTES + 1))
    assert not codex.is_amid_turn(tmp_path)


def test_a_turn_of_codex_that_began_long_ago_is_still_one(tmp_path: Path) -> None:
    codex = kind_of("codex")
    assert codex.transcript is not None
    path = codex.transcript.path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{line}\n" for line in recorded(codex)[:5]) + "x" * (LAST_BYTES + 1))
    assert codex.is_amid_turn(tmp_path)


def test_a_codex_whose_first_turn_was_broken_off_was_not_heard_yet(tmp_path: Path) -> None:
    """Its server ends a turn that begins while its screen comes."""
    box, codex = Box(tmp_path), kind_of("codex")
    assert codex.transcript is not None
    path, lines = codex.transcript.path(box.state), recorded(codex)
    path.parent.mkdir(parents=True)
    aborted = lines[4].replace("task_started", "turn_aborted")
    path.write_text("".join(f"{line}\n" for line in [*lines[:8], aborted]))
    assert (box.sight.waits, box.sight.heard) == (True, False)
    path.write_text("".join(f"{line}\n" for line in [*lines[:8], aborted, *lines[4:12]]))
    assert (box.sight.waits, box.sight.heard) == (False, True)


LOGGED = (
    "\x1b[2m2026-11-19T01:48:54.380102Z\x1b[0m \x1b[32m INFO\x1b[0m \x1b[2mcodex_otel.log_only\x1b[0m\x1b[2m:\x1b[0m "
    '\x1b[3mevent.name\x1b[0m\x1b[2m=\x1b[0m"codex.sse_event" \x1b[3mevent.kind\x1b[0m\x1b[2m=\x1b[0m'
    "response.completed input_token_count=1002 output_token_count=26 cached_token_count=114 "
    "cache_write_token_count=0 reasoning_token_count=2"
    " event.timestamp=2026-11-19T01:48:54.380Z conversation.id={thread} app.version=0.169.0\n"
)
MAIN, TITLE = "01a1f17e-0ecd-7e80-b485-5c7726a0e6f7", "01a1f17e-13f1-74e2-8d75-a903d721cd34"


def test_what_codex_took_for_a_title_counts_too_when_it_is_stopped(tmp_path: Path) -> None:
    """From the log of its server; what is in a rollout counts once, wherever it is told."""
    box, codex = Box(tmp_path), kind_of("codex")
    assert codex.transcript is not None
    path = codex.transcript.path(box.state)
    path.parent.mkdir(parents=True)
    text = "".join(f"{line}\n" for line in recorded(codex))
    path.write_text(text)
    before = box.sight.usage
    rollout = box.state / f"plugin/codex/home/sessions/2026/11/19/rollout-2026-11-19T01-48-52-{MAIN}.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_text(text)
    (box.state / "app_server.log").write_text(LOGGED.format(thread=MAIN) + LOGGED.format(thread=TITLE))
    after = box.ingest.finish(ATTEMPT, pane=False)
    assert after - before == Usage(input=888, output=26, cached=114, model=after.model)


@pytest.mark.parametrize("copied", [0, 17, 25, 60])
def test_what_mngr_has_not_copied_of_codex_counts_when_it_is_stopped(tmp_path: Path, copied: int) -> None:
    """Calls, failed commands and turns that ended in an error, too: once each, wherever they are told."""
    box, codex = Box(tmp_path), kind_of("codex")
    assert codex.transcript is not None
    lines = recorded(codex)
    ran = max(n for n, line in enumerate(lines) if '"exit_code":0' in line)
    lines[ran] = lines[ran].replace('"exit_code":0', '"exit_code":1')
    path = codex.transcript.path(box.state)
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{line}\n" for line in lines[:copied]))
    box.rounds()
    rollout = box.state / f"plugin/codex/home/sessions/2026/11/19/rollout-2026-11-19T01-48-52-{MAIN}.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_text("".join(f"{line}\n" for line in lines))
    found = box.ingest.finish(ATTEMPT, pane=False)
    assert (found.tool_calls, found.errors, found.output) == (2, 6 + 1, 84)
    assert box.ingest.finish(ATTEMPT, pane=False) == found, "asked again"


def test_an_older_codex_is_counted_when_it_is_stopped(tmp_path: Path) -> None:
    """It tells the tokens of a response beside their total only, and that twice."""
    box, codex = Box(tmp_path), kind_of("codex")
    assert codex.transcript is not None
    path = codex.transcript.path(box.state)
    path.parent.mkdir(parents=True)
    text = "".join(f"{line}\n" for line in recorded(codex) if '"token_usage_record"' not in line)
    path.write_text(text)
    rollout = box.state / f"plugin/codex/home/sessions/2026/11/19/rollout-2026-11-19T01-48-52-{MAIN}.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_text(text)
    found = box.ingest.finish(ATTEMPT, pane=False)
    assert (found.input, found.output, found.cached) == (3008 - 356, 84, 356)


def test_codex_tells_what_share_of_its_windows_is_used(tmp_path: Path) -> None:
    """A line of codex 0.169, whose provider had told it in headers; then one of a limit for a single model."""
    box, codex = Box(tmp_path), kind_of("codex")
    assert codex.transcript is not None
    path = codex.transcript.path(box.state)
    path.parent.mkdir(parents=True)
    line = (DATA / "codex_windows.jsonl").read_text()
    path.write_text(line + line.replace('"limit_id":"codex"', '"limit_id":"codex_bengalfox"').replace("42.5", "99.0"))
    at = datetime.fromisoformat("2026-11-19T12:30:19.245Z").timestamp()
    told = box.sight.windows
    assert told == (WindowShare(300, 0.425, 1795098619, at), WindowShare(10_080, 0.13, 1795350619, at))
    assert box.ingest.sight(KEY) == box.sight


@pytest.mark.parametrize("wrong", ["1" + "0" * 400, "-1", '"42"', "null", "[]", "{}"])
def test_a_window_of_codex_that_is_none_says_nothing(tmp_path: Path, wrong: str) -> None:
    box, codex = Box(tmp_path), kind_of("codex")
    assert codex.transcript is not None
    path = codex.transcript.path(box.state)
    path.parent.mkdir(parents=True)
    line = (DATA / "codex_windows.jsonl").read_text()
    for field in ("used_percent", "window_minutes", "resets_at"):
        line = re.sub(rf'("{field}":)[\d.]+', rf"\g<1>{wrong}", line)
        path.write_text(line)
    assert not box.sight.windows
