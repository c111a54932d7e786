"""Which of pytest's arguments choose tests: a job names its own, and of a file that is run none may be left out."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

#: arguments that choose by a rule, and take a value
_RULES = {"-k", "-m", "--deselect", "--ignore", "--ignore-glob"}
#: what was seen last time, or how many fail, decides which tests are run
_ORDERS = {"--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--sw", "--stepwise"}
_ORDERS |= {"--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset", "-x", "--exitfirst"}
_ORDERS_WITH_VALUE = {"--lfnf", "--last-failed-no-failures", "--maxfail"}
#: flags of pytest's own and of its usual plugins that take no value: what follows them is a path
_FLAGS = {"-v", "-q", "-s", "-l", "-x", "-h", "-V", "--verbose", "--quiet", "--showlocals", "--no-header", "--co"}
_FLAGS |= {"--no-summary", "--strict-markers", "--strict-config", "--strict", "--no-cov", "--collect-only", "--pdb"}
_FLAGS |= {"--doctest-modules", "--full-trace", "--runxfail", "--cache-clear", "--pyargs", "--noconftest"}
_SHORT_WITH_VALUE = "kmcnporW"

type _Kind = Literal["rule", "order", "path", "other"]


class _Argument(NamedTuple):
    kind: _Kind
    words: tuple[str, ...]


def without_paths(args: Sequence[str]) -> list[str]:
    """Without what names tests, and without what would run a part of those that are named."""
    return [word for each in _arguments(args) if each.kind in ("rule", "other") for word in each.words]


def without_selection(args: Sequence[str]) -> list[str]:
    """Without all that would leave a test out."""
    return [word for each in _arguments(args) if each.kind == "other" for word in each.words]


def _arguments(args: Sequence[str]) -> Iterator[_Argument]:
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "--":
            continue
        if not word.startswith("-") or word == "-":
            yield _Argument("path", (word,))
        elif word.startswith("--"):
            yield _long(word, rest)
        else:
            yield from _short(word, rest)


def _long(word: str, rest: list[str]) -> _Argument:
    name, has_value, _ = word.partition("=")
    if name in _ORDERS | _FLAGS:
        return _Argument("order" if name in _ORDERS else "other", (word,))
    kind: _Kind = "rule" if name in _RULES else "order" if name in _ORDERS_WITH_VALUE else "other"
    if not has_value and rest and not rest[0].startswith("-") and (kind != "other" or "::" not in rest[0]):
        return _Argument(kind, (word, rest.pop(0)))
    return _Argument(kind, (word,))


def _short(word: str, rest: list[str]) -> Iterator[_Argument]:
    """Letters may stand together, as in `-xvk one`: the first that takes a value takes what follows."""
    for place, letter in enumerate(word[1:], 1):
        if letter not in _SHORT_WITH_VALUE:
            yield _Argument("order" if letter == "x" else "other", (f"-{letter}",))
            continue
        kind: _Kind = "rule" if f"-{letter}" in _RULES else "other"
        value = word[place + 1 :]
        yield _Argument(kind, (f"-{letter}{value}",) if value else (f"-{letter}", *rest[:1]))
        if not value:
            del rest[:1]
        return
