"""How a program that runs until it is told to stop says why it could not."""

import sys
from collections.abc import Callable, Iterator

from supervisor.errors import SupervisorError

CANT_BE_USED = 2


def exit_code(program: str, work: Callable[[], int]) -> int:
    """What `work` comes to. Of each error one sentence is printed, and a hint."""
    code = 0
    try:
        code = work()
    except* SupervisorError as failed:
        errors = list(_each(failed))
        for error in errors:
            _say(program, error.message, error.hint)
        code = errors[0].exit_code
    except* OSError as failed:
        hint = "check that the user of this program may write to the state directory"
        for problem in _each(failed):
            _say(program, f"a system call failed: {problem}", hint)
        code = CANT_BE_USED
    return code


def _each[T: Exception](group: ExceptionGroup[T]) -> Iterator[T]:
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _each(error)
        else:
            yield error


def _say(program: str, message: str, hint: str) -> None:
    print(f"{program}: {message}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)
