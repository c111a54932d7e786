"""What is read of an attempt for a report is of that attempt, bounded, and without secrets."""

import json
from pathlib import Path

import msgspec
import pytest

from supervisor.adapters.layout import Layout
from supervisor.adapters.logs.store import LogStore
from supervisor.model.attempt import AttemptKey
from supervisor.publication.kept_files import EXCERPT_LINES, LINE_LENGTH, MOST_ARTIFACTS, KeptFiles
from supervisor.transcripts.entries import Entry
from supervisor.transcripts.redact import Redactor
from tests.agent_clone import GOOD_OUTCOME

KEY, OTHER = AttemptKey("k3f9x", 1, 2), AttemptKey("k3f9x", 1, 1)
SECRET = "hunter2hunter2"


def files(home: Path, **more: int) -> KeptFiles:
    return KeptFiles(Layout(home), Redactor([SECRET]), **more)


def published(home: Path, key: AttemptKey = KEY) -> Path:
    folder = Layout(home).attempt(key) / "published"
    folder.mkdir(parents=True)
    return folder


def write_log(home: Path, *texts: str) -> None:
    store = LogStore(Layout(home))
    for text in texts:
        entry = Entry("2026-07-21T22:04:01.000Z", 2, "claude/transcript", "say", text, {})
        store.append(KEY, msgspec.json.encode(entry) + b"\n")


def test_only_the_attempt_that_is_asked_for_is_read(tmp_path: Path) -> None:
    (published(tmp_path) / "outcome.json").write_text(json.dumps(GOOD_OUTCOME))
    outcome = files(tmp_path).outcome(KEY)
    assert outcome is not None
    assert outcome.summary == "The test was racy."
    assert files(tmp_path).outcome(OTHER) is None


def test_no_secret_is_in_any_text(tmp_path: Path) -> None:
    said = GOOD_OUTCOME | {
        "summary_markdown": f"It is {SECRET}.",
        "blocked": f"{SECRET} is refused",
        "changes": {"FIX_TEST": {"status": "SUCCEEDED", "summary_markdown": SECRET}},
        "escalations": [{"kind": "BLOCKER", "title": SECRET, "detail_markdown": SECRET, "locations": [SECRET]}],
        "more": SECRET,
    }
    (published(tmp_path) / "outcome.json").write_text(json.dumps(said))
    write_log(tmp_path, f"the key is {SECRET}")
    found = files(tmp_path).outcome(KEY)
    assert found is not None
    assert (found.summary, found.escalations[0].locations) == ("It is [secret].", ("[secret]",))
    assert SECRET not in repr(found) + repr(files(tmp_path).excerpt(KEY))


@pytest.mark.parametrize("text", ["{", "[]", '{"errored": "yes"}', '{"summary_markdown": "' + "x" * 300_000 + '"}'])
def test_what_can_not_be_read_is_nothing(tmp_path: Path, text: str) -> None:
    (published(tmp_path) / "outcome.json").write_text(text)
    assert files(tmp_path).outcome(KEY) is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text(json.dumps(GOOD_OUTCOME))
    (published(tmp_path) / "outcome.json").symlink_to(tmp_path / "elsewhere.json")
    assert files(tmp_path).outcome(KEY) is None


def test_all_together_are_bounded(tmp_path: Path) -> None:
    for key in (KEY, OTHER):
        (published(tmp_path, key) / "outcome.json").write_text(json.dumps(GOOD_OUTCOME))
    reader = files(tmp_path, most_bytes=100)
    assert [reader.outcome(key) is None for key in (KEY, OTHER)] == [False, True]


def test_the_end_of_the_log_is_told(tmp_path: Path) -> None:
    write_log(tmp_path, *(f"line {n}" for n in range(2_000)), "two\nlines\x1b[31m", "x" * 1_000)
    rows = files(tmp_path).excerpt(KEY)
    assert len(rows) == EXCERPT_LINES
    assert rows[-4:-1] == ("22:04:01 say    line 1999", "22:04:01 say    two", " " * 16 + "lines")
    assert len(rows[-1]) <= LINE_LENGTH + 20
    assert files(tmp_path).excerpt(OTHER) == ()


def test_artifacts_are_named_and_not_too_many(tmp_path: Path) -> None:
    folder = published(tmp_path) / "artifacts" / "run"
    folder.mkdir(parents=True)
    for number in range(MOST_ARTIFACTS + 5):
        (folder / f"{number}.cast").touch()
    found = files(tmp_path).artifacts(KEY)
    assert (len(found), found[0].startswith("run/")) == (MOST_ARTIFACTS, True)
