"""What tests cite: which tests there are, in which forms they cite, and what is refused."""

from pathlib import Path

import pytest

from supervisor.e2e.tutorial.blocks import normalise, parse
from supervisor.e2e.tutorial.citations import Test, find_tests, read_tests
from supervisor.e2e.tutorial.matching import Matcher

BLOCK = '# make one, then\ntool make one \\\n  --wait "it\'s here"\n# Note: made'
OTHER = "tool list"
SCRIPT = f"{BLOCK}\n\n{OTHER}\n"


def only(source: str) -> Test:
    [test] = read_tests(source, "t.py")
    return test


def cited(source: str, script: str = SCRIPT) -> list[str]:
    """First lines of the blocks that all tests of a file cite."""
    matcher = Matcher(parse(script).blocks)
    found = [each for test in read_tests(source, "t.py") for each in test.citations]
    return [block.first_line for citation in found for block in matcher.blocks_of(citation)]


def indented(text: str, by: int = 4) -> str:
    return "\n".join(" " * by + line for line in text.split("\n"))


CITE = f"e2e.write_tutorial_block({BLOCK!r})\n"
CALLS = {
    "raw": f'def test_x(e2e):\n    e2e.write_tutorial_block(r"""\n{indented(BLOCK)}\n    """)\n',
    "not raw": f'def test_x(e2e):\n    e2e.write_tutorial_block("""\n{indented(BLOCK)}\n    """)\n',
    "single quotes": f"def test_x(e2e):\n    e2e.write_tutorial_block(r'''\n{indented(BLOCK)}\n    ''')\n",
    "flush with the quotes": f'def test_x(e2e):\n    e2e.write_tutorial_block(r"""{BLOCK}""")\n',
    "other indentation": f'def test_x(e2e):\n    e2e.write_tutorial_block(r"""\n{indented(BLOCK, 12)}\n    """)\n',
    "escapes": f"def test_x(e2e):\n    {CITE}",
    "joined pieces": "def test_x(e2e):\n    e2e.write_tutorial_block(\n        "
    + "\n        ".join(repr(line + "\n") for line in BLOCK.split("\n"))
    + ")\n",
    "by keyword": f"def test_x(e2e):\n    e2e.write_tutorial_block(block={BLOCK!r})\n",
    "continuation written as one line": "def test_x(e2e):\n    e2e.write_tutorial_block("
    + repr(normalise(BLOCK))
    + ")\n",
    "async": f"async def test_x(e2e):\n    {CITE}",
    "parametrised": f"@pytest.mark.parametrize('n', [1, 2])\ndef test_x(e2e, n):\n    {CITE}",
    "in a class": f"class TestIt:\n    def test_x(self, e2e):\n        {CITE}",
    "in a branch": f"if True:\n    def test_x(e2e):\n        {CITE}",
    "deep in the body": f"def test_x(e2e):\n    with a:\n        for b in c:\n            {CITE}",
    "default argument that looks like a signature's end": f"def test_x(e2e, a='):'):\n    {CITE}",
    "other characters before it": f"def test_x(e2e):\n    'é'; {CITE}",
    "a waiver copied along": f"def test_x(e2e):\n    {CITE}".replace("'#", "'# e2e: skip(why)\\n#"),
    "text at column 0 in another string": f'def test_x(e2e):\n    a = """\ncolumn 0\n"""\n    {CITE}',
}


@pytest.mark.parametrize("source", CALLS.values(), ids=CALLS)
def test_a_call_cites_the_block_however_it_is_written(source: str) -> None:
    assert cited(source) == ["# make one, then"]


def docstring(section: str) -> str:
    return f'def test_x(e2e):\n    r"""{section}\n    """\n'


DOCSTRINGS = {
    "first line": docstring(f"Tutorial block:\n{indented(BLOCK, 8)}\n\n    Scope: this one."),
    "own paragraph": docstring(f"It works.\n\n    Tutorial block:\n{indented(BLOCK, 8)}\n\n    Scope: this one."),
    "last": docstring(f"It works.\n\n    Tutorial block:\n{indented(BLOCK, 8)}"),
    "flush with its header": docstring(f"Tutorial block:\n{indented(BLOCK)}\n\n    Scope: this one."),
    "note in the header": docstring(f"Tutorial block: (unhappy path)\n{indented(BLOCK, 8)}"),
    "plural, other case": docstring(f"tutorial blocks:\n{indented(BLOCK, 8)}"),
    "text after it without a header": docstring(f"Tutorial block:\n{indented(BLOCK, 8)}\n    and this is why."),
    "not raw": docstring(f"Tutorial block:\n{indented(BLOCK, 8)}").replace('r"""', '"""'),
    "nothing else in it": docstring(f"\n{indented(BLOCK)}"),
    "tabs": docstring(f"Tutorial block:\n{indented(BLOCK, 8)}").replace("    ", "\t"),
}


@pytest.mark.parametrize("source", DOCSTRINGS.values(), ids=DOCSTRINGS)
def test_a_docstring_section_cites_the_block(source: str) -> None:
    """Even one whose lines look like the next header."""
    assert cited(source) == ["# make one, then"]


@pytest.mark.parametrize(
    "template",
    [
        "@pytest.mark.tutorial({})\ndef test_x(): ...\n",
        "@tutorial({})\ndef test_x(): ...\n",
        "@tutorial({})\nclass TestIt:\n    def test_x(self): ...\n",
        "def test_x(e2e):\n    e2e.tutorial({})\n",
        "class TestIt:\n    def test_x(self):\n        self.e2e.tutorial({})\n",
    ],
)
def test_an_id_or_a_slug_that_only_one_block_has_cites_it(template: str) -> None:
    block = parse(SCRIPT).blocks[0]
    assert cited(template.format(repr(block.id))) == [block.first_line]
    assert cited(template.format(repr(block.slug))) == [block.first_line]
    assert cited(template.format(repr("tool-make"))) == []


def test_a_slug_of_two_blocks_cites_neither() -> None:
    assert cited("@tutorial('a')\ndef test_x(): ...\n", "a\n\n# again\na\n") == []


def test_one_test_may_cite_many_blocks_and_many_tests_one() -> None:
    one = f"    e2e.write_tutorial_block({BLOCK!r})\n"
    other = f"    e2e.write_tutorial_block({OTHER!r})\n"
    assert cited(f"def test_x(e2e):\n{one}{other}\ndef test_y(e2e):\n{one}") == [
        "# make one, then",
        "tool list",
        "# make one, then",
    ]
    assert cited(f"def test_x(e2e):\n    e2e.write_tutorial_block({SCRIPT!r})\n") == ["# make one, then", "tool list"]


STALE = {
    "a line too much": f"{BLOCK}\necho junk",
    "a line too few": BLOCK.rpartition("\n")[0],
    "junk between": BLOCK.replace("\n# Note", "\nunrelated\n# Note"),
    "another word": BLOCK.replace("--wait", "--no-wait"),
    "nothing": "",
}


@pytest.mark.parametrize("text", STALE.values(), ids=STALE)
def test_anything_but_the_whole_block_is_stale(text: str) -> None:
    assert cited(f"def test_x(e2e):\n    e2e.write_tutorial_block({text!r})\n") == []


REJECTED = {
    "f-string": ("def test_x(e2e):\n    e2e.write_tutorial_block(f'tool {1}')\n", "an f-string"),
    "name": ("def test_x(e2e):\n    e2e.write_tutorial_block(BLOCK)\n", "not a string literal"),
    "number": ("def test_x(e2e):\n    e2e.write_tutorial_block(1)\n", "not a string literal"),
    "no argument": ("def test_x(e2e):\n    e2e.write_tutorial_block()\n", "takes one string"),
    "two arguments": ("def test_x(e2e):\n    e2e.tutorial('a', 'b')\n", "takes one string"),
    "empty marker": ("@tutorial()\ndef test_x(): ...\n", "names no block"),
}


@pytest.mark.parametrize(("source", "message"), REJECTED.values(), ids=REJECTED)
def test_what_only_running_would_tell_is_rejected_with_a_message(source: str, message: str) -> None:
    test = only(source)
    assert not test.citations
    assert [message in rejected.message for rejected in test.rejected] == [True]


def test_tests_are_the_ones_that_pytest_collects() -> None:
    source = """
def helper(): ...
def test_a(): ...
def test_a(): "the second one of a name is the one that runs"
class TestB:
    def test_c(self): ...
    class TestD:
        async def test_e(self): ...
class Helper:
    def test_no(self): ...
class Cases(unittest.TestCase):
    def test_f(self): ...
def outer():
    def test_no(): ...
"""
    assert [test.id for test in read_tests(source, "t.py")] == [
        "t.py::test_a",
        "t.py::TestB::test_c",
        "t.py::TestB::TestD::test_e",
        "t.py::Cases::test_f",
    ]
    assert read_tests(source, "t.py")[0].line == 4


def test_files_are_the_ones_that_pytest_collects_and_the_unreadable_are_named(tmp_path: Path) -> None:
    for name in ("test_a.py", "b_test.py", "conftest.py", "sub/test_c.py", "tests.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("def test_x(): ...\n")
    (tmp_path / "test_bad.py").write_text("a = 1\ndef test_x(:\n")
    (tmp_path / "test_bytes.py").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "test_mark.py").write_bytes(b"\xef\xbb\xbfdef test_x(): ...\r\n")
    tests, unreadable = find_tests([tmp_path, tmp_path / "sub"])
    assert [Path(test.path).name for test in tests] == ["b_test.py", "test_c.py", "test_a.py", "test_mark.py"]
    assert [(Path(each.path).name, each.line) for each in unreadable] == [("test_bad.py", 2), ("test_bytes.py", 1)]


@pytest.mark.parametrize(
    ("body", "label"),
    [
        ("expect(r).to_succeed()", "happy"),
        ("expect(r).to_fail()", "unhappy"),
        ("expect(r).not_.to_succeed()", "unhappy"),
        ("expect(r).not_.to_fail()", "happy"),
        ("expect(r).to_have_exit_code(0)", "happy"),
        ("expect(r).to_have_exit_code(3)", "unhappy"),
        ("assert r.exit_code != 0", "unhappy"),
        ("assert r.exit_code == -9 and r.stdout", "unhappy"),
        ("assert r.returncode in (1, 2)", "unhappy"),
        ("assert r.exit_code == 0", "happy"),
        ("if r.exit_code != 0: raise Oops", "happy"),
    ],
)
def test_a_test_that_expects_a_failure_is_unhappy(body: str, label: str) -> None:
    assert only(f"def test_x(e2e):\n    {body}\n").conduct.label == label


def test_commands_are_those_run_on_a_fixture_as_far_as_the_source_tells() -> None:
    source = """
def test_x(e2e, other):
    command = "tool " "set"
    e2e.run("tool a", comment="c")
    other.spawn("tool b")
    self.e2e.run(command)
    e2e.run(f"tool {name} c")
    e2e.run("tool" + " d")
    subprocess.run("tool no")
    e2e.write("tool no")
"""
    assert only(source).conduct.commands == ("tool a", "tool b", "tool set", "tool \0 c", "tool d")
