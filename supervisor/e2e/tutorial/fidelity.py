"""How closely a test's commands match those of the block it cites."""

import shlex
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal as Choice

from supervisor.e2e.tutorial.blocks import normalise

type Fidelity = Choice["verbatim", "superset", "same-command", "none"]


def fidelity(cited: Iterable[str], run: Iterable[str]) -> Fidelity:
    """The best match of any command of the test with any command of the block.

    verbatim: the same line. superset: all its words and more. same-command: the same program and subcommand.
    """
    wanted, actual = set(cited), {line for command in run for line in _lines(command)}
    if wanted & actual:
        return "verbatim"
    pairs = [(_words(want), _words(got)) for want in wanted for got in actual]
    if any(want and Counter(want) <= Counter(got) for want, got in pairs):
        return "superset"
    return "same-command" if any(_is_same_command(want, got) for want, got in pairs) else "none"


@lru_cache(maxsize=16_384)
def _lines(command: str) -> tuple[str, ...]:
    return tuple(normalise(command).split("\n"))


@lru_cache(maxsize=16_384)
def _words(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line, comments=True))
    except ValueError:  # a line of a longer command, with an unclosed quote
        return tuple(line.split())


def _is_same_command(want: tuple[str, ...], got: tuple[str, ...]) -> bool:
    return bool(want) and _subcommand(want) == _subcommand(got)


def _subcommand(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if not word.startswith("-"))[:2]
