"""What an attempt has taken is counted to the token, whenever the daemon ends."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.adapters.logs.books import Books
from supervisor.errors import Unreadable
from supervisor.model.usage import Usage
from supervisor.transcripts.refusals import refusal
from tests.adapters.log_box import ATTEMPT, Box, PowerLoss, said


def test_every_message_counts_once(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.write(said(1), said(2), said(1), said(2, event_id="again"))
    box.write(said(3, tool_calls=[{"function_name": "Bash", "arguments": {"command": "ls"}}, {}]))
    failed = {"content": "no", "extra": {"is_error": True, "tool_name": "Bash"}}
    box.write({"type": "observation", "event_id": "o1", "results": [failed, {"content": "yes"}]})
    counted = Usage(input=240, output=6, cached=360, tool_calls=2, errors=1, model="model-1")
    assert box.sight.usage == replace(counted, context=303), "what the last request came to"


def test_a_step_whose_source_mngr_wrote_over_is_still_the_agents(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.write(said(1, source="claude/common_transcript"), {"type": "step", "event_id": "u-user", "message": "do it"})
    box.rounds()
    assert [row["data"]["by"] for row in box.log()] == ["agent", "user"]


@given(crashes=st.lists(st.tuples(st.sampled_from(["append", "save"]), st.integers(1, 3)), max_size=6))
def test_a_crash_at_any_step_loses_and_doubles_nothing(tmp_path_factory: Any, crashes: list[tuple[str, int]]) -> None:
    box = Box(tmp_path_factory.mktemp("box"))
    written = 0
    for step, at in crashes:
        for _ in range(at):
            written += 1
            box.write(said(written))
        (box.store if step == "append" else box.books).dies = True
        with pytest.raises(PowerLoss):
            box.ingest.round()
        box.books.close()
        box.store.dies = False
        box.restarted()
    box.write(said(written + 1))
    assert box.texts() == [f"m{n}" for n in range(1, written + 2)]
    total = sum(range(written + 2))
    usage = box.sight.usage
    assert (usage.input, usage.output, usage.cached) == (40 * total, total, 60 * total)
    assert usage.context == 101 * (written + 1)


def test_a_claude_that_is_stopped_amid_its_turn_is_counted_from_its_own_transcript(tmp_path: Path) -> None:
    """mngr's converter holds the last message back; the ids are the same, so none counts twice."""
    box = Box(tmp_path)
    box.write(said(1), source="claude/common_transcript")
    raw = box.state / "logs" / "claude_transcript" / "events.jsonl"
    raw.parent.mkdir(parents=True)
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 30, "output_tokens": 4}
    lines = [
        {
            "type": "assistant",
            "message": {"role": "assistant", "id": id_, "model": "m", "usage": usage, "content": block},
        }
        for id_, block in [("msg_1", []), ("msg_2", [{"type": "text"}]), ("msg_2", [{"type": "tool_use"}])]
    ]
    raw.write_text("".join(json.dumps(line) + "\n" for line in lines))
    box.rounds()
    expected = Usage(input=40 + 7, output=1 + 4, cached=60 + 30, tool_calls=1, model="m", written=2, context=41)
    assert box.ingest.finish(ATTEMPT, pane=False) == expected
    assert box.ingest.finish(ATTEMPT, pane=False) == expected, "asked again"


def response(id_: str, output: int) -> str:
    usage = {"input_tokens": 5, "output_tokens": output}
    message = {"role": "assistant", "id": id_, "model": "m", "usage": usage, "content": []}
    return json.dumps({"type": "assistant", "message": message}) + "\n"


def test_what_it_wrote_for_itself_alone_counts_when_it_has_stopped(tmp_path: Path) -> None:
    """mngr brings its sessions together each second, and only its own: neither the last words of one that is
    stopped, nor those of agents that claude has started. A link to elsewhere is not read."""
    box = Box(tmp_path)
    box.write(said(1), source="claude/common_transcript")
    raw = box.state / "logs" / "claude_transcript" / "events.jsonl"
    raw.parent.mkdir(parents=True)
    raw.write_text(response("msg_1", 1) + response("msg_2", 2))
    session = box.state / "plugin" / "claude" / "anthropic" / "projects" / "-work" / "s1.jsonl"
    helper = session.parent / "s1" / "subagents" / "agent-a.jsonl"
    helper.parent.mkdir(parents=True)
    session.write_text(response("msg_1", 1) + response("msg_2", 2) + response("msg_3", 4).rstrip())
    helper.write_text(response("msg_4", 8))
    elsewhere = tmp_path / "elsewhere.jsonl"
    elsewhere.write_text(response("msg_5", 16))
    (session.parent / "link.jsonl").symlink_to(elsewhere)
    assert box.ingest.finish(ATTEMPT, pane=False).output == 1 + 2 + 4 + 8


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "API Error: Request rejected (429) · You've hit your session limit · resets 8pm",
            "window",
        ),
        ("Invalid API key · Fix external API key", "login"),
        ("OAuth token has expired · Please run /login", "login"),
        ("API Error: 529 Overloaded. This is a server-side issue", "overload"),
        ("Credit balance is too low", "credit"),
        ("API Error: Connection error.", "overload"),
        ("No response requested.", ""),
    ],
)
def test_a_no_of_the_provider_is_known_by_its_words(text: str, problem: str) -> None:
    told = refusal(text, 0.0)
    assert (told.problem if told else "") == problem


def test_the_last_word_counts_and_only_what_the_program_itself_says_is_a_no(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.write(said(1, message="API Error: 529 Overloaded is what I read in the file"))
    assert box.sight.problem == ""
    box.write(said(2, message="API Error: 529 Overloaded.", model_name="<synthetic>"))
    assert box.sight.problem == "overload"
    box.restarted()
    box.write({"type": "step", "source": "user", "message": "go on"})
    assert box.sight.problem == "overload"
    box.write(said(3))
    assert box.sight.problem == ""


def test_whether_its_model_was_ever_heard_is_known_over_a_restart(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.write({"type": "step", "source": "user", "message": "do it"})
    assert box.sight.heard is False
    box.write(said(1, message="API Error: 529 Overloaded.", model_name="<synthetic>"))
    assert box.sight.heard is True, "a refusal is an answer"
    box.restarted()
    assert box.sight.heard is True


def test_books_that_cannot_be_read_are_never_started_over(tmp_path: Path) -> None:
    (tmp_path / "logs.sqlite3").write_bytes(b"no database at all" * 100)
    with pytest.raises(Unreadable, match=r"logs\.sqlite3") as refused:
        Books(tmp_path / "logs.sqlite3")
    assert "move" in refused.value.hint
