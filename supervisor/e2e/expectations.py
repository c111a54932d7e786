"""`expect(…)`: assertions about a command's result, a text, a JSON document, a screen or a file.

Every assertion returns the expectation, so they chain; `.not_` negates the next one; `.eventually()` retries until
they hold, for a function, a result (its command is run again), a spawned command, a screen or a file.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from supervisor.e2e import jsonpath, polling, subjects
from supervisor.e2e.polling import Poll
from supervisor.e2e.result import CommandResult

__tracebackhide__ = True  # a failure shows the test's line, not ours


@dataclass(frozen=True, slots=True)
class Expectation:
    """Assertions about one subject, which is evaluated again for each."""

    _subject: Callable[[], object]
    _name: str
    _fresh: Callable[[], object] | None = None  # evaluates the subject again; None if it never changes
    _is_negated: bool = False
    _poll: Poll | None = None

    # --- how --------------------------------------------------------------------------------------------------
    @property
    def not_(self) -> Self:
        """Negate the next assertion."""
        return replace(self, _is_negated=not self._is_negated)

    def eventually(self, timeout: float = 10.0, interval: float = 0.1) -> Self:
        """Retry each of the following assertions until it holds, for up to `timeout` seconds."""
        if self._fresh is None:
            raise TypeError(
                f"{self._name} can never change: expect a function, such as lambda: path.readsubjects.text()"
            )
        return replace(self, _subject=self._fresh, _poll=Poll(timeout, interval))

    # --- what of it -------------------------------------------------------------------------------------------
    @property
    def stdout(self) -> Self:
        return self._of("stdout", lambda subject: subjects.result(subject, "stdout").stdout)

    @property
    def stderr(self) -> Self:
        return self._of("stderr", lambda subject: subjects.result(subject, "stderr").stderr)

    @property
    def output(self) -> Self:
        return self._of("output", lambda subject: subjects.result(subject, "output").output)

    def json(self, path: str = "") -> Self:
        """The value at `path` of the JSON document that the text is."""
        tuple(jsonpath.steps(path))
        return self._of(f"json {path}".strip(), lambda subject: subjects.at(subjects.document(subject), path))

    def _of(self, part: str, take: Callable[[object], object]) -> Self:
        subject, fresh = self._subject, self._fresh
        return replace(
            self,
            _subject=lambda: take(subject()),
            _fresh=(lambda: take(fresh())) if fresh else None,
            _name=f"{part} of {self._name}",
        )

    # --- claims about a result --------------------------------------------------------------------------------
    def to_succeed(self) -> Self:
        return self._claim("to succeed", lambda s: subjects.result(s, "to_succeed").exit_code == 0, subjects.story)

    def to_fail(self) -> Self:
        """It exited with a non-zero code; a command that timed out does not count as failed."""
        return self._claim("to fail", lambda s: subjects.has_failed(subjects.result(s, "to_fail")), subjects.story)

    def to_have_exit_code(self, code: int) -> Self:
        said = f"to have exit code {code}"
        return self._claim(said, lambda s: subjects.result(s, "to_have_exit_code").exit_code == code, subjects.story)

    def to_time_out(self) -> Self:
        return self._claim("to time out", lambda s: subjects.result(s, "to_time_out").timed_out, subjects.story)

    def to_be_killed_by(self, signal: str) -> Self:
        said = f"to be killed by {signal}"
        return self._claim(said, lambda s: subjects.result(s, "to_be_killed_by").signal == signal, subjects.story)

    def to_leave_nothing_behind(self) -> Self:
        said = "to leave no process behind"
        return self._claim(
            said, lambda s: not subjects.result(s, "to_leave_nothing_behind").background, subjects.story
        )

    def to_take_less_than(self, seconds: float) -> Self:
        said = f"to take less than {seconds:g} s"
        return self._claim(
            said, lambda s: subjects.result(s, "to_take_less_than").duration_seconds < seconds, subjects.story
        )

    # --- claims about text, and about values of JSON ----------------------------------------------------------
    def to_contain(self, *parts: object) -> Self:
        """Contains each part: a substring of a text, an element of a list, a name of an object."""
        for part in parts:
            self._claim_contains(part)
        return replace(self, _is_negated=False)

    def _claim_contains(self, part: object) -> None:
        said = f"to contain {part!r}"
        self._claim(said, lambda s: subjects.contains(s, part), lambda s: subjects.shown(s, part))

    def not_to_contain(self, *parts: object) -> Self:
        return self.not_.to_contain(*parts)

    def to_match(self, pattern: str | re.Pattern[str]) -> Self:
        """The pattern matches somewhere in the text; `^` and `$` match at line boundaries."""
        compiled = re.compile(pattern, re.MULTILINE) if isinstance(pattern, str) else pattern
        return self._claim(
            f"to match {compiled.pattern!r}", lambda s: bool(compiled.search(subjects.text(s, "to_match")))
        )

    def not_to_match(self, pattern: str | re.Pattern[str]) -> Self:
        return self.not_.to_match(pattern)

    def to_equal(self, wanted: object) -> Self:
        return self._claim(
            f"to equal {subjects.short(wanted)}",
            lambda s: subjects.plain(s) == wanted,
            lambda s: subjects.difference(subjects.plain(s), wanted),
        )

    def to_be_empty(self) -> Self:
        return self._claim("to be empty", lambda s: len(subjects.sized(s, "to_be_empty")) == 0)

    def to_have_length(self, length: int) -> Self:
        return self._claim(f"to have length {length}", lambda s: len(subjects.sized(s, "to_have_length")) == length)

    def to_have_lines(self, *lines: str) -> Self:
        """Has these whole lines in this order, with any others between them; surrounding white space is ignored."""
        said = f"to have the lines {list(lines)!r}"
        return self._claim(said, lambda s: subjects.has_lines(subjects.text(s, "to_have_lines"), lines))

    def to_have_line_count(self, count: int) -> Self:
        return self._claim(
            f"to have {count} lines", lambda s: len(subjects.text(s, "to_have_line_count").splitlines()) == count
        )

    def to_match_json(self, path: str, wanted: object) -> Self:
        """The value at `path` matches: objects may have more names, `...` matches anything, a pattern is searched."""
        self.json(path)
        said = f"to have {subjects.short(wanted)} at {path or 'the top'}"
        return self._claim(said, lambda s: jsonpath.matches(subjects.at(subjects.document(s), path), wanted))

    # --- claims about files -----------------------------------------------------------------------------------
    def to_exist(self) -> Self:
        return self._claim("to exist", lambda s: subjects.path(s).exists(), lambda _: "")

    # --- how a claim is tested --------------------------------------------------------------------------------
    def _claim(self, said: str, holds: Callable[[object], bool], show: Callable[[object], str] | None = None) -> Self:
        def check() -> None:
            subject = self._subject()
            if holds(subject) == self._is_negated:
                word = "not " if self._is_negated else ""
                shown = (show or subjects.shown)(subject)
                raise AssertionError(f"expected {self._name} {word}{said}" + (f"\n{shown}" if shown else ""))

        try:
            self._poll.until_it_holds(check) if self._poll else check()
        except AssertionError as error:
            polling.fail(error)
        return replace(self, _is_negated=False)


class _Expect:
    """`expect(subject)`; `with expect.soft():` reports all failures of a block at once."""

    def __call__(self, subject: object, name: str = "") -> Expectation:
        if isinstance(subject, Expectation):
            raise TypeError("this is already an expectation: assert something, such as .to_succeed()")
        if isinstance(subject, CommandResult):
            return Expectation(lambda: subject, name or f"`{subject.command}`", _fresh=_repeating(subject))
        if callable(subject):
            return Expectation(subject, name or "what the function returns", _fresh=subject)
        name = name or subjects.described(subject)
        lives = isinstance(subject, subjects.Showing | Path)
        return Expectation(lambda: subject, name, _fresh=(lambda: subject) if lives else None)

    def soft(self) -> AbstractContextManager[None]:
        return polling.soft()


def _repeating(result: CommandResult) -> Callable[[], CommandResult] | None:
    """Evaluate to the existing result first; each retry runs the command again."""
    if (again := result.again) is None:
        return None
    there = iter([result])
    return lambda: next(there, None) or again()


expect = _Expect()
