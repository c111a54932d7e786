"""Transcripts: what is written can be read back, whatever the output looks like."""

import json
import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from supervisor.e2e import E2e, expect
from supervisor.e2e.output import Stream
from supervisor.e2e.redact import Redactor
from supervisor.e2e.transcript import End, Entry, TranscriptFile, parse

marks = st.sampled_from(["$ ", "> ", "! ", "? 0 (1.00s)", "\\", "# ", "  ", "\n", "\r", "& 1 x", "~ ", "\x1b[31m"])
texts = st.lists(st.one_of(marks, st.text(max_size=5)), min_size=1, max_size=6).map("".join)
streams: st.SearchStrategy[Stream] = st.sampled_from(("stdout", "stderr"))
one_line = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1, max_size=20)
ends = st.builds(
    End,
    exit_code=st.integers(0, 255),
    duration_seconds=st.integers(0, 10**6).map(lambda n: n / 100),
    signal=st.sampled_from([None, "SIGKILL", "SIGTERM"]),
    timed_out=st.booleans(),
)
entries = st.builds(
    Entry,
    command=texts,
    comment=st.one_of(st.just(""), texts),
    pieces=st.lists(st.tuples(streams, texts), max_size=6).map(tuple),
    background=st.lists(st.tuples(st.integers(1, 10**6), one_line), max_size=2).map(tuple),
    end=ends,
)


def merged(pieces: tuple[tuple[Stream, str], ...]) -> tuple[tuple[Stream, str], ...]:
    whole: list[tuple[Stream, str]] = []
    for stream, text in pieces:
        if not text:
            continue
        if whole and whole[-1][0] == stream:
            whole[-1] = (stream, whole[-1][1] + text)
        else:
            whole.append((stream, text))
    return tuple(whole)


def written(story: list[Entry]) -> str:
    with tempfile.TemporaryDirectory() as directory:
        transcript = TranscriptFile(Path(directory) / "t.txt", Redactor())
        for entry in story:
            transcript.start(entry.command, entry.comment)
            for stream, text in entry.pieces:
                transcript.output(stream, text)
            assert entry.end is not None
            transcript.end(entry.end, entry.background)
        transcript.close()
        with transcript.path.open(newline="") as file:
            return file.read()


@given(st.lists(entries, max_size=4))
def test_what_is_written_is_read_back(story: list[Entry]) -> None:
    read = list(parse(written(story)))
    assert [entry.pieces for entry in read] == [merged(entry.pieces) for entry in story]
    assert [(e.command, e.comment, e.background, e.end) for e in read] == [
        (e.command, e.comment, e.background, e.end) for e in story
    ]


@given(entries, st.integers(0, 400))
def test_transcript_of_a_killed_test_is_read_up_to_the_kill(entry: Entry, cut: int) -> None:
    """Cut anywhere, what is read is a beginning of what was written."""
    whole = written([entry])
    read = list(parse(whole[:cut]))
    assert len(read) <= 1
    if read and cut >= whole.index("$ "):
        assert entry.text("stdout").startswith(read[0].text("stdout")[:-1])


def test_format(e2e: E2e) -> None:
    e2e.run("echo one\necho two >&2", comment="Say something")
    e2e.run("printf abc; exit 3")
    seconds = r"\(\d+\.\d\ds\)"
    expect(e2e.directory / "transcript.txt").to_match(
        r"\A# Say something\n\$ echo one\n> echo two >&2\n  one\n! two\n\? 0 " + seconds
        + r"\n\n\$ printf abc; exit 3\n  abc\n\\\n\? 3 " + seconds + r"\n\Z"
    )  # fmt: skip


def test_output_is_on_disk_while_the_command_runs(e2e: E2e) -> None:
    with e2e.spawn("echo first; read line; echo second") as command:
        command.wait_for("first")
        (transcript,) = e2e.directory.glob("transcript-*.txt")
        expect(transcript).to_contain("  first\n").not_.to_contain("  second")


def test_twin_has_times_and_the_same_text(e2e: E2e) -> None:
    e2e.run("echo a; until grep -q stdout $E2E_CASTS/transcript.jsonl; do sleep 0.01; done; sleep 0.1; echo b >&2")
    events = [json.loads(line) for line in (e2e.directory / "transcript.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["start", "output", "output", "end"]
    assert [(event["stream"], event["text"]) for event in events[1:3]] == [("stdout", "a\n"), ("stderr", "b\n")]
    assert events[2]["t"] - events[1]["t"] >= 0.09
    assert events[3]["exit_code"] == 0


def test_secrets_are_not_written(e2e: E2e) -> None:
    """Not in the transcript, its twin, a recording, the whole output; not even in two pieces."""
    secret = "correct-horse-battery"
    e2e.env["MY_API_KEY"] = secret
    command = 'printf "%s" "${MY_API_KEY:0:9}"; sleep 0.05; echo "${MY_API_KEY:9}"; echo $MY_API_KEY >&2'
    result = e2e.run(command, comment=f"Log in with {secret}")
    expect(result).stdout.to_equal(f"{secret}\n")
    e2e.run(command, tty=True)
    e2e.run("seq 200000; echo $MY_API_KEY")
    for path in e2e.directory.iterdir():
        expect(path).not_.to_contain(secret)
    expect(e2e.directory / "transcript.txt").to_contain("[secret]")


def test_environment_of_this_process_is_secret_too(e2e: E2e) -> None:
    os.environ["E2E_TEST_TOKEN"] = "tok-1234567890"
    try:
        redactor = Redactor.of_environment(os.environ)
    finally:
        del os.environ["E2E_TEST_TOKEN"]
    assert redactor.text("a tok-1234567890 b") == "a [secret] b"
