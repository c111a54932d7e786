"""A liar in place of a program of the repository: a test of that program should notice.

The liar has the program's path, and runs the real program, which is kept beside it, if the lie needs it. So a test
of a program in any language can be shown to check its output, its exit code and what it does to files. This module is
also packed for verifiers on other hosts.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from supervisor.verification.evidence.laying import Content, put

_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "itself", "env", "timeout", "nohup", "sudo", "stdbuf", "script")


@dataclass(frozen=True)
class Lie:
    what: str
    #: a body for /bin/sh in which `real` runs the program; or, for other interpreters, the whole file
    body: str
    is_drastic: bool = True


@dataclass(frozen=True)
class Telling:
    """A lie in the place of a program of the repository."""

    program: str
    #: the program that runs it, or "itself"
    how: str
    lie: Lie


_ALTER = "tr '0-9a-yA-Y' '1-90b-zB-Z'"
_ELSEWHERE = 'there=$(mktemp -d) && cp -a . "$there/" && cd "$there"'
#: what any program can do wrong
LIES = (
    Lie("does nothing", "exit 0"),
    Lie("fails", 'echo "it is broken" >&2; exit 97'),
    Lie("says nothing", 'real "$@" >/dev/null 2>&1'),
    Lie("says something else", f'code=$(mktemp); {{ real "$@"; echo $? >$code; }} | {_ALTER}; exit $(cat $code)'),
    Lie("ends with another exit code", 'real "$@"; [ $? -ne 0 ]', is_drastic=False),
    Lie("does nothing to files", f'{_ELSEWHERE} && real "$@"', is_drastic=False),
)
#: for any interpreter: an empty file, and one that is code in no language
_ANYWHERE = (Lie("does nothing", ""), Lie("fails", ")](\x00}{\n"))


def lies(how: str) -> Iterator[Lie]:
    yield from LIES if how in _SHELLS else _ANYWHERE


def tell(checkout: Path, telling: Telling) -> None:
    """Put the liar in the program's place. Blocking."""
    program, how, lie = telling.program, telling.how, telling.lie
    place = checkout / program
    if how not in _SHELLS:  # it may read its file in any language
        put(checkout, {program: Content(lie.body.encode())})
        return
    if checkout.resolve() not in place.parent.resolve().parents and checkout.resolve() != place.parent.resolve():
        raise OSError(f"{program} is not in the checkout")
    real = place.with_name(f".{PurePosixPath(program).name}.real")
    place.rename(real)
    # A script that is started by its interpreter need not be executable.
    is_program = real.stat().st_mode & 0o111
    run = shlex.quote(str(real)) if is_program else f"{'sh' if how == 'itself' else how} {shlex.quote(str(real))}"
    script = f'#!/bin/sh\nreal() {{ {run} "$@"; }}\n{lie.body}\n'
    put(checkout, {program: Content(script.encode(), "program")})
