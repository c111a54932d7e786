"""Notes of a run that many tests share: read whole, and split by test."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from supervisor.verification.evidence.seen import MAX_BYTES, MOST_BYTES, is_whole, read_seen
from supervisor.verification.together.reaching import ALL, Reached, known, read_notes, split_notes
from supervisor.verification.together.touching import Touch
from supervisor.verification.tracing.traced import NOTHING, Traced

ONE, OTHER = "tests/test_it.py::test_one", "tests/test_it.py::test_other"
CODE, PROGRAM = "tool/main.py", "bin/greet"
LINES = Touch(lines=frozenset((7,)))


def noted(folder: Path, *notes: Sequence[object], padding: int = 0) -> Path:
    folder.mkdir()
    text = "".join(json.dumps(each) + "\n" for each in notes)
    (folder / "seen").write_text(text + "x" * padding)
    return folder


def two_tests(folder: Path) -> Path:
    """Both import a module; one of them also starts a program that takes no notes."""
    imports = ("lines", CODE, [1, 3, 7, 9])
    own = ("line", "tests/test_it.py", 5, "body")
    return noted(
        folder,
        ("test", ALL),
        ("line", CODE, 20, "collecting"),
        ("test", ONE),
        own,
        imports,
        ("line", CODE, 12, "body"),
        ("start", -1, "git"),
        ("test", OTHER),
        own,
        imports,
    )


def test_lines_that_imports_execute_are_noted_as_spans(tmp_path: Path) -> None:
    found = read_notes(two_tests(tmp_path / "notes"))
    assert found[OTHER].lines[CODE] == {1, 2, 3, 7, 8, 9}
    assert found[ONE].lines[CODE] == {1, 2, 3, 7, 8, 9, 12}
    assert found[ALL].lines[CODE] == {20}


@pytest.mark.parametrize("spans", [[1], [3, 1], [0, 2], [1, 10**9], ["1", "2"], [1, None, 2, 3]])
def test_spans_that_are_none_say_nothing(spans: list[object], tmp_path: Path) -> None:
    found = read_notes(noted(tmp_path / "notes", ("test", ONE), ("lines", CODE, spans)))
    assert not found[ONE].lines.get(CODE)


def test_a_share_has_its_own_notes_and_those_that_belong_to_all(tmp_path: Path) -> None:
    split_notes(two_tests(tmp_path / "notes"), [OTHER], tmp_path / "own")
    seen = read_seen(tmp_path / "own")
    assert seen.lines == {"tests/test_it.py": {5}}
    assert seen.collecting == {CODE: {20}}


def test_a_record_of_many_tests_may_be_longer_than_that_of_one(tmp_path: Path) -> None:
    folder = noted(tmp_path / "notes", ("test", ONE), ("open", "data"), padding=MAX_BYTES)
    assert not is_whole(folder)
    assert is_whole(folder, MOST_BYTES)
    split_notes(folder, [ONE], tmp_path / "own")
    assert read_seen(tmp_path / "own").is_cut, "it has the whole length"


# --- programs that take no notes


def opaque(tmp_path: Path, files: Traced) -> Reached:
    return known(read_notes(two_tests(tmp_path / "notes")), files)[ONE]


def test_a_program_without_notes_could_notice_everything(tmp_path: Path) -> None:
    for files in (NOTHING, Traced(unknown="it leads elsewhere"), Traced(interrupted=1)):
        (tmp_path / str(id(files))).mkdir()
        assert opaque(tmp_path / str(id(files)), files).notices("unheard/of.py", LINES)


def test_where_its_files_are_known_it_notices_those(tmp_path: Path) -> None:
    files = Traced(opened=frozenset(("data.csv",)), asked=frozenset((CODE,)), listed=frozenset(("docs", "")))
    found = opaque(tmp_path, files)
    for path in ("data.csv", "docs/new.md", "README.md"):
        assert found.notices(path, Touch(lines=frozenset((1,)))), path
    assert not found.notices("unheard/of.py", LINES)
    assert found.notices(CODE, LINES)
    assert not found.notices(CODE, Touch(lines=frozenset((30,)))), "its lines are known"
