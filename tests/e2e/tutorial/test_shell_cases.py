"""The decided parser cases of docs/tutorial-blocks.md, one by one: which lines make one block."""

import pytest

from supervisor.e2e.tutorial.blocks import parse

WHOLE = {
    "heredoc with a blank line": "cat <<EOF\na\n\nb\nEOF",
    "heredoc, quoted delimiter": "cat <<'E O F'\n$(\n\n'\nE O F\necho after",
    "heredoc, tabs stripped": "cat <<-EOF\n\ta\n\n\tEOF",
    "two heredocs on one line": "cat <<A - <<B\n1\n\nA\n2\n\nB",
    "heredoc inside a substitution": 'x="$(cat <<EOF\na\n\nEOF\n)"',
    "delimiter with trailing text does not end it": "cat <<EOF\nEOF more\n\nEOF",
    "heredoc asked for before a quote ends": "cat <<EOF 'a\n\nb'\nbody\n\nEOF",
    "single quotes": "echo 'a\n\nb'",
    "double quotes with an escaped quote": 'echo "a\\"\n\nb"',
    "dollar quotes": "echo $'it\\'s\n\nb'",
    "quote in a substitution in a quote": 'echo "$(echo "a\n\nb")"',
    "backticks": "echo `ls\n\ndate`",
    "apostrophe in a quoted expansion": "echo \"${x:-it's\n\nb's}\"",
    "brace in a quoted part of an expansion": "echo ${x:-'}'\n\n}",
    "if": "if true; then\n\n  echo a\n\nfi",
    "nested loops": "for a in 1 2; do\n  while read b; do\n\n    echo\n  done\n\ndone < file",
    "loop with do on its own line": "until false\n\ndo\n  :\ndone",
    "select": "select x in a b; do\n\n  break\ndone",
    "case with unbalanced patterns": "case $x in\n  a|b) echo 1 ;;\n\n  (c) echo 2 ;;\n\n  *) echo 3\n\nesac",
    "case pattern named like a keyword": "case $x in\n  if) a ;;\n\n  done) b ;;\nesac",
    "group": "{\n  echo a\n\n  echo b\n}",
    "subshell": "(\n  cd x\n\n  ls\n)",
    "function": "f() {\n  echo\n\n  echo\n}",
    "function, keyword form, brace on the next line": "function f\n\n{\n  echo\n}",
    "function, body after a blank line": "f()\n\n{ echo; }",
    "array": "a=(\n  if\n\n  two\n)",
    "arithmetic shift is no heredoc": "x=$((1 <<\n\n2))",
    "arithmetic for": "for ((i=0; i<3; i++)); do\n\n  echo $i\ndone",
    "double parenthesis that is two subshells": "((echo a); (echo b\n\n))",
    "pipe at the end of a line": "a |\n\nb",
    "and at the end of a line, comment after it": "a && # then\n\nb",
    "or at the end of a line": "a ||\n\n# otherwise\nb",
    "process substitution": "diff <(\n\na) b",
    "keyword straight after a keyword": "{ if a; then b\n\nfi }",
    "regular expression with a group": "if [[ $x =~ ^(a|b)$ ]]; then\n\n  echo\nfi",
    "test": "[[ -n $a\n\n  && ( -n $b ||\n\n -n $c )\n\n]]",
    "test in a substitution": "x=$([[ -n a\n\n]] && (echo b\n\n))",
    "no keyword after a redirection": "{ { a; } > f }\n\n}; }",
}

APART = {
    "two commands": "a\n\nb",
    "line of spaces and tabs": "a\n \t \nb",
    "keyword as an argument": "echo if\n\necho done",
    "keyword in a word": "iffy\n\ndo-it",
    "brace expansion": "echo {a,b}\n\nls",
    "apostrophe in a comment": "# don't\na\n\nb",
    "apostrophe in a trailing comment": "a # don't\n\nb",
    "hash inside a word": "echo a#'b'\n\nb",
    "count of arguments is no comment": "echo $# '\n'\n\nb",
    "escaped quote": "echo \\'\n\nb",
    "here-string": "cat <<< EOF\n\nb",
    "shift in arithmetic": "echo $((1<<2))\n\nb",
    "arithmetic command": "((x = 1 << 2))\n\nb",
    "continuation before a blank line ends there": "a \\\n\nb",
    "background": "a &\n\nb",
    "redirections": "a >&2 2>&1 &> f\n\nb",
    "redirection to a file that is called like a keyword": "> if\n\nb 2> case < do",
    "keyword after a test": "if [[ a ]] then b; fi\n\n{ [[ a<b ]]&& c; }",
    "substitution that closes": "echo $(ls) if\n\nb",
    "closing words without an opening one": "fi\n\ndone; }",
    "case on one line": "case a in a) b ;; esac\n\nc",
    "empty function call parentheses": "f() { :; }\n\nf",
    "length of a variable": "echo ${#x}\n\nb",
    "glob": "ls !(a|b)\n\nb",
    "extra closing parenthesis": "a )\n\nb",
    "keyword quoted": "'if' a\n\nb",
    "coprocess": "coproc { cat; }\n\nb",
    "negation": "! { a; }\n\nb",
    "quoted empty heredoc delimiter": "cat <<''\nbody\n\n\nb",
}


@pytest.mark.parametrize("script", WHOLE.values(), ids=WHOLE)
def test_a_blank_line_inside_a_command_splits_nothing(script: str) -> None:
    tutorial = parse(f"first\n\n{script}\n\nlast\n")
    assert [block.text for block in tutorial.blocks] == ["first", script, "last"]
    assert not tutorial.problems


@pytest.mark.parametrize("script", APART.values(), ids=APART)
def test_a_blank_line_between_commands_splits(script: str) -> None:
    tutorial = parse(script)
    assert len(tutorial.blocks) == 2, [block.text for block in tutorial.blocks]
    assert not tutorial.problems


UNCLOSED = {
    "quote": ("echo 'a\n\nb\n\nc", "' is never closed"),
    "double quote": ('echo "a\n\nb\n\nc', '" is never closed'),
    "heredoc": ("cat <<EOF\n\nb\n\nc", "<<EOF is never closed"),
    "if": ("if true; then\n\nb\n\nc", "if is never closed"),
    "loop": ("for x in a; do\n\nb\n\nc", "do is never closed"),
    "case": ("case x in\n\nb\n\nc", "case is never closed"),
    "group": ("{ a\n\nb\n\nc", "{ is never closed"),
    "substitution": ("echo $(a\n\nb\n\nc", "( is never closed"),
}


@pytest.mark.parametrize(("script", "message"), UNCLOSED.values(), ids=UNCLOSED)
def test_what_is_never_closed_costs_its_own_block_only_and_is_reported(script: str, message: str) -> None:
    tutorial = parse(f"first\n\n{script}")
    assert [block.line for block in tutorial.blocks] == [1, 3, 5, 7]
    assert [(problem.line, problem.message) for problem in tutorial.problems] == [(3, message)]


def test_a_script_that_is_broken_all_over_is_read_in_linear_time() -> None:
    """Each unclosed brace would be looked for to the end of the file: after a few, blank lines decide."""
    tutorial = parse("{ a\n\n" * 5_000)
    assert len(tutorial.blocks) == 5_000
    assert 0 < len(tutorial.problems) < 20
