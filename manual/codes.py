"""Exit codes of both programs, and the words for errors in JSON."""

from collections.abc import Iterator

from supervisor import errors
from supervisor.cli import main, supervisord

CTL = main.EXIT_CODES
DAEMON = supervisord.EXIT_CODES


def words() -> Iterator[tuple[str, int]]:
    """`error.code` in JSON, and the exit code that goes with it."""
    for cls in vars(errors).values():
        if isinstance(cls, type) and issubclass(cls, errors.SupervisorError) and cls is not errors.SupervisorError:
            told = cls.__new__(cls)
            yield told.code, cls.exit_code
