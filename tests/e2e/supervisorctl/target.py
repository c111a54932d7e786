"""The repository that the tutorial's reader is in: a tool that greets, its tutorial, and three end-to-end tests."""

from pathlib import Path

from supervisor.rehearsal import commit_all

TOOL = """\
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        --name) name=$2; shift ;;
        *) word=$1 ;;
    esac
    shift
done
echo "$word, ${name:-you}"
"""

TUTORIAL = """\
#!/usr/bin/env bash

#### GREETING

# say hello
greet hello

# and goodbye
greet goodbye

# Shouting
"""

TESTS = '''\
"""Greeting, as the tutorial has it."""

from pathlib import Path

from supervisor.e2e import expect

ROOT = Path(__file__).parents[2]


def test_hello(e2e):
    """It greets.

    Tutorial block:
        # say hello
        greet hello
    """
    expect(e2e.run("bin/greet hello", cwd=ROOT, comment="say hello")).stdout.to_equal("hello, you\\n")


def test_goodbye(e2e):
    """It takes leave.

    Tutorial block:
        # and goodbye
        greet goodbye
    """
    expect(e2e.run("bin/greet goodbye", cwd=ROOT, comment="and goodbye", tty=True)).to_succeed()


def test_shout(e2e):
    """It can be loud.

    Tutorial block:
        # say hello
        greet hello
    """
    expect(e2e.run("bin/greet HELLO", cwd=ROOT)).stdout.to_contain("HELLO")
'''

FILES = {"bin/greet": TOOL, "tutorial.sh": TUTORIAL, "tests/e2e/test_greet.py": TESTS}


def lay_out(repo: Path) -> None:
    """With one commit on `main`."""
    for name, text in FILES.items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (repo / "bin" / "greet").chmod(0o755)
    commit_all(repo, "A tool that greets")
