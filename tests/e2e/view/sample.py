"""A small run to look at: what goes well, what fails, what is hostile, and a terminal that was recorded."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TUTORIAL = """#!/usr/bin/env bash
set -euo pipefail

##############################################################################
# GETTING STARTED
##############################################################################

# Say hello in colour
greet --colour

# Count to three, in a terminal
greet --count 3

## Things that go wrong

# Nobody has tested this
greet --forever

# Print it
greet --print

# Aloud
greet --aloud
"""
TESTS = r'''
import os
import pytest
from supervisor.e2e import expect

SLOW = float(os.environ.get("SAMPLE_SLOW", "0"))

def test_colours(e2e):
    """Colours come through as they were printed."""
    e2e.write_tutorial_block("""
        # Say hello in colour
        greet --colour
    """)
    colours = r"\033[31mred\033[0m plain \033[38;2;1;200;3mtrue\033[0m \033[48;5;21mback\033[0m"
    expect(e2e.run(f"printf '{colours}\n'; echo oops >&2", comment="Say hello")).to_succeed()

def test_wrong_name(e2e):
    e2e.write_tutorial_block("""
        # Say hello in colour
        greet --colour
    """)
    expect(e2e.run("echo no such greeting >&2; exit 4", comment="Say it wrong")).to_fail()

def test_count(e2e):
    e2e.tutorial("greet-count-3-PLACE")
    terminal = e2e.terminal(
        r"for n in 1 2 3; do printf '\033[3%dmnumber %d\033[0m\n' $n $n; sleep 0.2; done;"
        " read -r answer; echo got $answer",
        comment="Count in a terminal",
    )
    terminal.wait_text("number 3")
    terminal.mark("counted")
    terminal.send("enough\r")
    terminal.wait_text("got enough")
    terminal.wait()
    e2e.run("echo after; sleep %s" % SLOW)

def test_broken(e2e):
    expect(e2e.run("echo this went wrong; false")).to_succeed()

@pytest.mark.skip(reason="there is no printer here")
def test_print(e2e):
    """# Print it
    greet --print
    """

def test_slug(e2e):
    if not os.environ.get("SAMPLE_LOUD"):
        pytest.skip("too loud for the night")
    e2e.tutorial("greet-aloud")

EVIL = "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=2'>"

def test_hostile(e2e):
    e2e.write_tutorial_block(EVIL)
    e2e.run("cat", stdin=EVIL + "\033]0;title\007\033]52;c;cHduZWQ=\007\n", comment=EVIL)
    e2e.run("cat", stdin=EVIL, tty=True, timeout=1)
    e2e.run("printf '\\033[38;2;1;2;3m" + EVIL.replace("'", "") + "'")
    assert False, EVIL
'''


@dataclass(frozen=True, slots=True)
class Sample:
    """Two runs of the sample tests and the tutorial that they cite."""

    tutorial: Path
    run: Path
    other: Path


def make(directory: Path) -> Sample:
    from supervisor.e2e.tutorial.blocks import parse

    tutorial = directory / "tutorial.sh"
    tutorial.write_text(TUTORIAL)
    block = parse(TUTORIAL).blocks[1]
    tests = directory / "test_sample.py"
    tests.write_text(TESTS.replace("greet-count-3-PLACE", block.id))
    _run(directory, "before")
    tests.write_text(tests.read_text().replace("; false", "").replace("SLOW = float", "SLOW = 1.5 + float"))
    _run(directory, "after")
    return Sample(tutorial, directory / "after", directory / "before")


def _run(directory: Path, name: str) -> None:
    plugins = [
        option for plugin in ("asyncio", "schemathesis", "hypothesispytest") for option in ("-p", f"no:{plugin}")
    ]
    argv = [sys.executable, "-m", "pytest", "-q", *plugins, f"--e2e-dir={name}", "--rootdir=."]
    subprocess.run(argv, cwd=directory, check=False, capture_output=True, timeout=100)
