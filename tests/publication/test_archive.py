"""Unpacking what was published, and reading an outcome: promises over any input."""

import io
import json
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import Hostile
from supervisor.model.publication import ChangeClaim, Escalation, Publication, Statement
from supervisor.publication.archive import Limits, unpack
from supervisor.publication.rules.outcome import MAX_TEXT, clean, parse_meta, parse_outcome
from tests.agent_clone import AgentClone

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
FIELDS = ["schema_version", "changes", "errored", "blocked", "tests_passing_before", "summary_markdown", "test_runs"]
outcomes = st.dictionaries(st.sampled_from([*FIELDS, "escalations", "more"]), anything)


def parsed(data: bytes) -> Statement | None:
    try:
        return parse_outcome(data)
    except Hostile:
        return None


@given(st.binary() | st.text().map(str.encode) | (anything | outcomes).map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_an_outcome_or_hostile(data: bytes) -> None:
    outcome = parsed(data)
    if outcome is not None:
        msgspec.json.encode(outcome).decode("utf-8")


@given(st.text())
def test_cleaned_text_is_printable_and_bounded(text: str) -> None:
    cleaned = clean(text, 50)
    assert len(cleaned) <= 50
    assert "\x1b" not in cleaned
    assert clean(cleaned, 50) == cleaned


def test_an_outcome_of_the_contract() -> None:
    outcome = parse_outcome(
        json.dumps(
            {
                "schema_version": 1,
                "changes": {"FIX_TEST": {"status": "SUCCEEDED", "summary_markdown": "\x1b[31mred\x1b[0m"}},
                "tests_passing_before": False,
                "tests_passing_after": True,
                "escalations": [{"kind": "BLOCKER", "title": "t", "detail_markdown": "d", "locations": ["a.py:1"]}],
                "mood": {"good": [1]},
            }
        ).encode()
    )
    assert outcome.changes == (ChangeClaim("FIX_TEST", "SUCCEEDED", "red"),)
    assert outcome.succeeded_kinds == ("FIX_TEST",)
    assert (outcome.tests_passing_before, outcome.tests_passing_after, outcome.blocked) == (False, True, "")
    assert outcome.escalations == (Escalation("BLOCKER", "t", "d", ("a.py:1",)),)
    assert outcome.extra == {"mood": {"good": [1]}}


def test_a_mapper_outcome_of_tmr_is_valid() -> None:
    mapper = {
        "changes": {"IMPROVE_TEST": {"status": "FAILED", "summary_markdown": "no"}},
        "errored": False,
        "tests_passing_before": True,
        "tests_passing_after": True,
        "summary_markdown": "as before",
        "test_runs": [{"run_name": "r_try_1", "description": "first"}],
        "escalations": [{"kind": "SHARED_PATTERN", "title": "sleep", "detail_markdown": "twice"}],
    }
    outcome = parse_outcome(json.dumps(mapper).encode())
    assert (outcome.test_runs[0].description, outcome.extra) == ("first", {})


def test_unknown_types_of_fields_that_decide_nothing_are_kept_as_extra() -> None:
    said = {"changes": {}, "summary_markdown": 7, "test_runs": {"a": 1}, "big": 10**30, "inf": -(2**63)}
    outcome = parse_outcome(json.dumps(said).encode())
    assert outcome.extra == {
        "summary_markdown": 7,
        "test_runs": {"a": 1},
        "big": "a number out of range",
        "inf": -(2**63),
    }


def test_long_texts_are_cut_with_a_mark() -> None:
    outcome = parse_outcome(json.dumps({"changes": {}, "summary_markdown": "x" * 100_000}).encode())
    assert outcome.summary == "x" * (MAX_TEXT - 1) + "…"


def test_meta_is_read_leniently() -> None:
    meta = parse_meta(b'{"head": "abc", "attempt": 3, "rescued": true, "skipped": ["a", 1]}')
    assert (meta.head, meta.attempt, meta.rescued, meta.skipped) == ("abc", "", True, ("a",))


def tar_of(members: dict[str, bytes], path: Path, form: int = tarfile.GNU_FORMAT) -> Path:
    with tarfile.open(path, "w", format=form) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_unpacks_what_the_tool_published(tmp_path: Path) -> None:
    clone = AgentClone.make(tmp_path)
    head = clone.commit("[FIX_TEST] wait", test_app__py="wait\n")
    (clone.folder / "artifacts" / "a b.txt").write_text("seen")
    clone.publish()
    first = unpack(clone.folder / "published.tar", tmp_path / "collected")
    publication = unpack(clone.folder / "published.tar", tmp_path / "collected")
    assert publication == first
    assert publication.believable
    assert publication.refusals == ()
    assert publication.outcome
    assert publication.outcome.summary == "The test was racy."
    assert (publication.meta.head, publication.meta.base) == (head, clone.base)
    assert publication.bundle
    assert publication.bundle.is_file()
    assert [(publication.folder / name).read_text() for name in publication.artifacts] == ["seen"]


names = st.lists(
    st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=60), min_size=1, max_size=4
).map(lambda parts: "artifacts/" + "/".join(parts))


@given(st.dictionaries(names, st.binary(max_size=2_000), max_size=5), st.sampled_from([0, 1, 2]))
def test_reads_what_the_standard_library_wrote(files: dict[str, bytes], form: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.tar")
        try:
            tar_of({"outcome.json": b"{}"} | files, path, form)
        except ValueError:  # names that the oldest format can't hold
            return
        publication = unpack(path, Path(folder, "into"))
        for name in publication.artifacts:
            assert (publication.folder / name).read_bytes() == files[name]
        assert all(refusal.reason in ("duplicate", "meta-missing") for refusal in publication.refusals)
        assert len(publication.artifacts) + len(publication.refusals) == len(files) + 1


@given(st.binary(max_size=3_000), st.integers(0, 3_000), st.integers(0, 10_240))
def test_a_damaged_archive_is_unpacked_or_hostile_and_stays_in_its_folder(noise: bytes, at: int, cut: int) -> None:
    with TemporaryDirectory() as folder:
        path = tar_of({"outcome.json": b'{"changes": {}}', "artifacts/a": b"a" * 700}, Path(folder, "a.tar"))
        data = path.read_bytes()
        path.write_bytes((data[:at] + noise + data[at + len(noise) :])[:cut])
        try:
            found: Publication | None = unpack(path, Path(folder, "into"))
        except Hostile:
            found = None
        expected = {"a.tar", "into"} if found else {"a.tar"}
        assert {one.name for one in Path(folder).iterdir()} == expected


def test_artifacts_beyond_the_limits_leave_the_rest_believable(tmp_path: Path) -> None:
    members = {"outcome.json": b'{"changes": {}}', "meta.json": b"{}", "artifacts/a": b"aa", "artifacts/b": b"bbbb"}
    path = tar_of(members, tmp_path / "a.tar")
    publication = unpack(path, tmp_path / "into", Limits(artifact=3))
    assert publication.artifacts == ("artifacts/a",)
    assert [(one.part, one.reason) for one in publication.refusals] == [("artifacts", "member-too-large")]
    assert publication.believable
    assert unpack(path, tmp_path / "into", Limits(artifacts=1)).refusals[0].reason == "too-many-artifacts"
    with pytest.raises(Hostile, match="larger than"):
        unpack(path, tmp_path / "into", Limits(archive=100))
