"""What holds for every script: nothing is lost or doubled, ids stay, nothing raises."""

import ast
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from supervisor.e2e.tutorial.blocks import normalise, parse
from supervisor.e2e.tutorial.citations import read_tests

_WORDS = """a | || && ' " ` $( ) (( )) { } ${ <<EOF EOF <<-E if then fi for do done case in y) ;; esac f()  a=( \\
set -e #!/bin/sh #### é"""
_LINES = [
    "# words",
    "## Heading",
    "# e2e: skip(why)",
    "# e2e: prose",
    "\\\n",
    "\n",
    "\n\n",
    " \t",
    "\r\n",
    "\f",
    "\ud800",
]
FRAGMENTS = [*_WORDS.split(), *_LINES]
SHELLISH = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map(" ".join)
SCRIPTS = st.one_of(st.text(max_size=300), SHELLISH, SHELLISH.map(lambda text: text.replace(" \n ", "\n")))
COMMANDS = st.from_regex(r"[a-z]{1,8}( [a-z0-9./-]{1,8}){0,3}", fullmatch=True).filter(
    lambda line: line.split()[0] not in {"if", "for", "while", "until", "select", "case", "function", "set", "shopt"}
)
PLAIN_BLOCKS = st.lists(
    st.lists(COMMANDS, min_size=1, max_size=3).map("\n".join), min_size=1, max_size=8, unique_by=normalise
)


@given(SCRIPTS)
def test_any_text_is_read_without_raising_and_blocks_are_apart_and_in_order(text: str) -> None:
    tutorial = parse(text)
    lines = [(item.line, item.end_line) for item in tutorial.blocks]
    assert lines == sorted(lines)
    assert all(end < start for (_, end), (start, _) in pairwise(lines))


@given(SCRIPTS)
def test_every_line_with_a_command_is_in_exactly_one_block(text: str) -> None:
    """After the prologue, a line that is neither blank nor a comment is in one block, and blocks hold whole lines."""
    tutorial = parse(text)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    covered = {number for block in tutorial.blocks for number in range(block.line, block.end_line + 1)}
    first = min(covered, default=len(lines) + 1)
    for number, line in enumerate(lines, start=1):
        if number > first and line.strip() and not line.strip().startswith("#"):
            assert number in covered, line
    for block in tutorial.blocks:
        assert "\n".join(lines[block.line - 1 : block.end_line]).strip() == block.text


@given(PLAIN_BLOCKS, st.data())
def test_ids_stay_when_other_blocks_come_and_go(texts: list[str], data: st.DataObject) -> None:
    ids = {block.text: block.id for block in parse("\n\n".join(texts)).blocks}
    kept = data.draw(st.lists(st.sampled_from(texts), min_size=1, unique=True))
    alone = {block.text: block.id for block in parse("## Elsewhere\n\n" + "\n\n\n".join(kept)).blocks}
    assert alone == {text: ids[text] for text in kept}


@given(SCRIPTS.filter(lambda text: "\x00" not in text and "\ud800" not in text))
def test_any_text_quoted_as_a_literal_is_cited_as_it_is(text: str) -> None:
    source = f"def test_x(e2e):\n    e2e.write_tutorial_block({text!a})\n"
    ast.parse(source)
    [test] = read_tests(source, "t.py")
    assert any(normalise(reading) == normalise(text) for reading in test.citations[0].readings)
