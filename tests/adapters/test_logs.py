"""What agents write is read once, whatever becomes of their files."""

import os
from pathlib import Path

import pytest

from supervisor.transcripts import tail
from tests.adapters.log_box import Box, said


def test_lines_come_once_and_whole(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.write("one", "two")
    box.write('{"message": "thr', end="")
    assert box.texts() == ["one", "two"]
    box.write('ee"}')
    assert box.texts() == ["one", "two", "three"]


def test_a_file_that_appears_later_and_deeper_is_found(tmp_path: Path) -> None:
    box = Box(tmp_path)
    assert box.texts() == []
    box.write("one")
    box.write("two", source="claude/common_transcript")
    box.write("mngr's own", source="logs/claude_background_tasks")
    assert sorted(box.texts()) == ["one", "two"]


def test_a_file_that_was_renamed_is_read_to_its_end(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.write("one")
    box.rounds()
    box.write("two")
    box.file().rename(box.file().with_name("events.jsonl.1"))
    box.write("three")
    assert box.texts() == ["one", "two", "three"]


def test_a_file_that_was_cut_short_is_read_from_its_start(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.write("a long first line", "two")
    box.rounds()
    box.file().write_text("three\n")
    assert box.texts() == ["a long first line", "two", "the file was truncated; reading from its start", "three"]


def test_a_line_without_an_end_is_skipped_and_said_to_be(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.write("one")
    box.write("x" * (tail.LONGEST_LINE + 3 * tail.CHUNK))
    box.write("two")
    texts = box.texts()
    assert texts[0] == "one" and texts[2] == "two" and "was skipped" in texts[1]  # noqa: PT018
    box.write("y" * tail.LONGEST_LINE, end="")
    assert "was skipped" in box.texts()[-1]


def test_a_long_line_is_read_and_bounded(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.write(said(1, message="z" * 3 * tail.CHUNK))
    [text] = box.texts()
    assert len(text) < 20_000
    assert "more characters" in text


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    """A link would show what is not the agent's, and a pipe would hold up all others."""
    box = Box(tmp_path)
    (tmp_path / "private").write_text("not for you\n")
    box.file("link").symlink_to(tmp_path / "private")
    os.mkfifo(box.file("pipe"))
    (box.state / "events" / "elsewhere").symlink_to(tmp_path, target_is_directory=True)
    box.write("one")
    assert box.texts() == ["one"]


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"type": "step", "tool_calls": 7, "metrics": {"prompt_tokens": "9", "completion_tokens": -1}, "extra": []}',
        '{"type": "observation", "results": {"a": 1}}',
        '{"type": {"a": 1}, "timestamp": 12, "message": ["a", {"b": null}]}',
        '{"type": "step", "model_name": 1e400, "metrics": {"prompt_tokens": 1e99}}',
        '{"message": "\\ud800 lone"}',
        "\x00\xff\x1b[2J",
    ],
)
def test_no_line_stops_the_reading(tmp_path: Path, line: str) -> None:
    box = Box(tmp_path)
    box.write(line, "after it")
    assert box.texts()[-1] == "after it"


def test_nothing_that_a_terminal_obeys_is_kept(tmp_path: Path) -> None:
    box = Box(tmp_path)
    box.write({"message": "a\x1b[31mred\x1b[0m\x1b]0;title\x07 \x9b2J\u202eb\r\nc\x1b"})
    assert box.texts() == ["ared b\nc"]


def test_a_secret_is_masked_in_every_sink(tmp_path: Path) -> None:
    secret = "a-known-secret"
    box = Box(tmp_path)
    call = {"function_name": secret, "arguments": {"command": f"echo {secret[:7]}\x1b[0m{secret[7:]}"}}
    box.write(said(1, message=secret, model_name=secret, tool_calls=[call]))
    box.write({"type": "observation", "results": [{"content": f"x{secret}x", "extra": {"tool_name": secret}}]})
    box.write(said(2, message=f"API Error: 429 {secret}", model_name="<synthetic>"))
    box.write(f"half a-known-se", "cret", f"not json {secret}")  # noqa: F541
    box.write({"type": secret, "message": secret})
    box.write("z" * 20_000 + secret)
    sight = box.sight
    everything = "".join(path.read_text() for path in tmp_path.glob("batches/**/*.jsonl")) + repr(sight)
    assert "[secret]" in everything
    assert secret not in everything
    assert "known" not in everything
