"""The check both ways, and how it is told: text, JSON, JUnit, annotations, exit codes, baseline, fixes."""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from typer.testing import CliRunner, Result

from supervisor.cli.session import Session
from supervisor.cli.tutorial import app
from supervisor.e2e.tutorial.blocks import parse
from supervisor.e2e.tutorial.check import Report, compare
from supervisor.e2e.tutorial.citations import read_tests
from supervisor.e2e.tutorial.fidelity import fidelity
from supervisor.e2e.tutorial.fix import fixed
from supervisor.e2e.tutorial.matching import Matcher
from supervisor.e2e.tutorial.outlets import ANNOTATIONS, as_annotations
from supervisor.e2e.tutorial.report import as_text

SCRIPT = "#!/bin/sh\n\n# make one\ntool make one\n\n# list all of them\ntool list --all\n\n# A seed\n"
TODAY = date(2030, 1, 1)


def citing(*texts: str, name: str = "x") -> str:
    calls = "".join(f"    e2e.write_tutorial_block({text!r})\n" for text in texts)
    return f"def test_{name}(e2e):\n    e2e.run('tool make one')\n{calls}"


def checked(script: str, *sources: str, today: date = TODAY) -> Report:
    tests = [test for number, source in enumerate(sources) for test in read_tests(source, f"t{number}.py")]
    return compare("s.sh", parse(script), tests, today=today)


BOTH = citing("# make one\ntool make one", "# list all of them\ntool list --all")


def test_all_cited_both_ways_passes() -> None:
    report = checked(SCRIPT, BOTH)
    assert (report.exit_code, report.cited_blocks, report.matched_tests) == (0, 2, 1)


def test_an_uncited_block_a_test_without_a_block_and_a_stale_citation_each_fail() -> None:
    assert [block.line for block in checked(SCRIPT, citing("# make one\ntool make one")).uncited] == [6]
    assert [test.name for test in checked(SCRIPT, BOTH, citing(name="y")).uncited_tests] == ["test_y"]
    report = checked(SCRIPT, BOTH, citing("# make one\ntool make onn", name="y"))
    assert (report.exit_code, len(report.stale), report.stale[0].nearest.staleness) == (1, 1, "edited")
    assert "-tool make onn\n" in as_text(report)
    assert "+tool make one" in as_text(report)


def test_a_citation_like_no_block_is_of_one_that_is_gone() -> None:
    [stale] = checked(SCRIPT, citing("# something else entirely\nother command --with flags")).stale
    assert stale.nearest.staleness == "gone"


def test_a_stale_id_is_told_from_one_that_is_gone_by_its_slug() -> None:
    source = "def test_x(e2e):\n    e2e.tutorial('tool-make-one-00000000')\n    e2e.tutorial('nothing')\n"
    edited, gone = checked(SCRIPT, source).stale
    assert (edited.nearest.staleness, gone.nearest.staleness) == ("edited", "gone")


def test_a_waived_block_needs_no_test_until_its_waiver_ends() -> None:
    script = SCRIPT.replace("# list all", "# e2e: skip(slow, until 2030-01-01)\n# list all")
    source = citing("# make one\ntool make one")
    assert checked(script, source).exit_code == 0
    late = checked(script, source, today=date(2030, 1, 2))
    assert (late.exit_code, len(late.waived)) == (1, 0)
    assert "waiver expired on 2030-01-01" in as_text(late)


def test_a_script_that_cannot_be_read_as_meant_is_no_mere_gap() -> None:
    assert checked(SCRIPT + "\necho 'open\n", BOTH).exit_code == 2


@pytest.mark.parametrize(
    ("run", "level"),
    [
        (["tool  x", "tool make one"], "verbatim"),
        (["tool make one --json"], "superset"),
        (["cd x\ntool make one"], "verbatim"),
        (["tool make two"], "same-command"),
        (["tool list"], "none"),
        (["echo 'half"], "none"),
        ([], "none"),
    ],
)
def test_fidelity_is_the_best_that_any_command_does(run: list[str], level: str) -> None:
    assert fidelity(["tool make one"], run) == level


def test_annotations_are_escaped_and_stay_within_what_is_shown() -> None:
    script = "\n\n".join(f"tool make {number} 100%\n# line" for number in range(50))
    lines = as_annotations(checked(script)).split("\n")
    assert len(lines) == ANNOTATIONS
    assert lines[0].startswith("::error file=s.sh,line=1,title=uncited block::")
    assert "100%25%0A# line" in lines[0]
    assert "41 more findings" in lines[-1]


STALE_SOURCES = {
    "call": '''
def test_x(e2e):
    e2e.write_tutorial_block(r"""
        # make one
        tool make 1
    """)
''',
    "call, flush, other quotes": """
def test_x(e2e):
    e2e.write_tutorial_block('''# make one
    tool make 1''')
""",
    "call, one line": """
def test_x(e2e):
    e2e.write_tutorial_block("# make one\\ntool make 1")
""",
    "call, joined pieces": """
def test_x(e2e):
    e2e.write_tutorial_block(
        "# make one\\n"
        "tool make 1"
    )
""",
    "docstring": '''
def test_x(e2e):
    """It makes one.

    Tutorial block:
        # make one
        tool make 1

    Scope: this one, with a \\\\ in it.
    """
''',
    "docstring, last": '''
class TestIt:
    async def test_x(self, e2e):
        """Tutorial block:
            # make one
            tool make 1"""
''',
    "docstring that is the block": '''
def test_x(e2e):
    """
    # make one
    tool make 1
    """
''',
    "id": """
@pytest.mark.tutorial("tool-make-one-00000000")
def test_x(e2e): ...
""",
    "two of them": '''
def test_x(e2e):
    e2e.write_tutorial_block("""
    # make one
    tool make 1
    """)
    e2e.write_tutorial_block("""
    # make one
    tool make 2
    """)
''',
}
LONG = "# make one of them as the guide says, then wait until it is there for everyone to see and to use"
TRICKY = f'{LONG}\ntool make one \\\n  --as "a\'b" \'"""\'\n# that\'s "it"'


@pytest.mark.parametrize("block", [f"{LONG}\ntool make one", TRICKY], ids=["plain", "tricky"])
@pytest.mark.parametrize("source", STALE_SOURCES.values(), ids=STALE_SOURCES)
def test_a_fix_brings_an_edited_citation_up_to_date_and_touches_nothing_else(source: str, block: str) -> None:
    """Whatever quotes and backslashes the block holds: the file is still Python and says the same."""
    matcher = Matcher(parse(block).blocks)
    before = source.replace("# make one", LONG).replace("tool-make-one-00000000", id_with(block, "00000000"))
    after = fixed(before, "t.py", matcher)
    citations = [each for test in read_tests(after, "t.py") for each in test.citations]
    assert len(citations) == before.count("tool make") + before.count("00000000")
    assert all(matcher.blocks_of(each) for each in citations)
    assert [test.name for test in read_tests(after, "t.py")] == [test.name for test in read_tests(before, "t.py")]


def id_with(block: str, digest: str) -> str:
    return f"{parse(block).blocks[0].slug}-{digest}"


def test_a_fix_keeps_indentation_quotes_and_what_stands_around() -> None:
    matcher = Matcher(parse("# make one\ntool make one").blocks)
    for name in ("call", "docstring"):
        source = STALE_SOURCES[name]
        assert fixed(source, "t.py", matcher) == source.replace("tool make 1", "tool make one")
    assert fixed(STALE_SOURCES["id"], "t.py", matcher).count('"tool-make-one-') == 1


# The command line


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.sh").write_text(SCRIPT)
    Path("tests").mkdir()
    Path("tests/test_a.py").write_text(citing("# make one\ntool make one"))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), obj=Session())


def test_json_has_the_public_shape(project: Path) -> None:
    result = run("check", "s.sh", "--tests", "tests", "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 1
    expected = {"blocks": 2, "cited": 1, "stale": [], "seeds": 1, "tests": 1, "citing_tests": 1, "uncited_tests": 0}
    assert {key: told[key] for key in expected} == expected
    assert [(each["line"], each["first_line"]) for each in told["uncited"]] == [(6, "# list all of them")]
    [citation] = told["by_block"][0]["tests"]
    assert citation["path"] == "tests/test_a.py"
    assert (citation["fidelity"], citation["label"], citation["form"]) == ("verbatim", "happy", "call")
    assert told["by_test"][0]["blocks"] == [told["by_block"][0]["block"]]


def test_usage_errors_are_not_gaps(project: Path) -> None:
    assert run("check", "s.sh").exit_code == 2
    assert run("check", "missing.sh", "--tests", "tests").exit_code == 2
    assert run("check", "s.sh", "--tests", "missing").exit_code == 2
    assert run("check", "s.sh", "--tests", "tests", "--update-baseline").exit_code == 2
    Path("bad.json").write_text("{}")
    assert run("check", "s.sh", "--tests", "tests", "--baseline", "bad.json").exit_code == 2
    Path("tests/test_bad.py").write_text("def (")
    assert run("check", "s.sh", "--tests", "tests").exit_code == 2


def test_junit_has_a_case_per_block_and_per_stale_citation(project: Path) -> None:
    Path("tests/test_b.py").write_text(citing("# make one\ntool make\x01 1"))
    assert run("check", "s.sh", "--tests", "tests", "--junit", "out/j.xml").exit_code == 1
    suite = Xml.parse("out/j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [case.get("line") for case in suite] == ["3", "6", "3"]


def test_a_baseline_allows_old_gaps_and_only_shrinks(project: Path) -> None:
    """Adopted with one gap, it refuses another, and forgets the first once that is closed."""
    command = ("check", "s.sh", "--tests", "tests", "--baseline", "b.json")
    assert run(*command).exit_code == 1
    assert run(*command, "--update-baseline").exit_code == 0
    assert run(*command).exit_code == 0
    Path("s.sh").write_text(SCRIPT + "\ntool new\n")
    grown = run(*command, "--update-baseline")
    assert grown.exit_code == 1
    assert "only shrinks" in grown.stderr
    Path("tests/test_b.py").write_text(citing("# list all of them\ntool list --all", "tool new", name="y"))
    assert run(*command, "--update-baseline").exit_code == 0
    assert json.loads(Path("b.json").read_text()) == {"uncited": [], "uncited_tests": []}


def test_fix_rewrites_the_file_shows_the_diff_and_keeps_its_line_ends(project: Path) -> None:
    path = Path("tests/test_a.py")
    path.write_bytes(b"\xef\xbb\xbf" + citing("# make one\ntool make 1").replace("\n", "\r\n").encode())
    result = run("check", "s.sh", "--tests", "tests", "--fix", "--json")
    assert json.loads(result.stdout)["stale"] == []
    assert "+    tool make one" in result.stderr.replace("        ", "    ")
    written = path.read_bytes()
    assert written.startswith(b"\xef\xbb\xbfdef test_x")
    assert written.count(b"\n") == written.count(b"\r\n")


def test_blocks_are_listed_with_lines_and_ids(project: Path) -> None:
    told = json.loads(run("blocks", "s.sh", "--json").stdout)
    assert [(block["line"], block["end_line"]) for block in told["blocks"]] == [(3, 4), (6, 7)]
    text = run("blocks", "s.sh")
    assert text.exit_code == 0
    assert told["blocks"][0]["id"] in text.stdout
    Path("s.sh").write_text("echo 'open\n")
    assert run("blocks", "s.sh").exit_code == 2


def test_the_check_needs_the_standard_library_only() -> None:
    code = "import sys; from supervisor.e2e.tutorial import baseline, check, fix, outlets, report"
    third_party = (
        "; print([m for m in sys.modules if m.split('.')[0] in {'typer','rich','pytest','pydantic','httpx'}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + third_party], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
