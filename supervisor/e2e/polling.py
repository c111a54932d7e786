"""Retries an assertion until it holds, and collects failures instead of stopping at the first."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__tracebackhide__ = True  # a failure shows the test's line, not ours

_soft: ContextVar[list[str] | None] = ContextVar("soft expectations", default=None)


@dataclass(frozen=True, slots=True)
class Poll:
    """How long and how often to retry."""

    timeout: float
    interval: float

    def until_it_holds(self, check: Callable[[], None]) -> None:
        """Retry `check` until it does not raise; a TypeError means wrong use and is raised at once."""
        deadline = time.monotonic() + self.timeout
        tries = 0
        while True:
            tries += 1
            try:
                return check()
            except TypeError:
                raise
            except Exception as error:
                if time.monotonic() + self.interval > deadline:
                    how = f"within {self.timeout:g} s ({tries} tries)"
                    raise AssertionError(f"{_said(error)}\n  never came true {how}") from error
            time.sleep(self.interval)


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"


def fail(error: AssertionError) -> None:
    """Raise, or remember when failures are being collected."""
    collected = _soft.get()
    if collected is None:
        raise error
    collected.append(str(error))


@contextmanager
def soft() -> Generator[None]:
    """Collect the failed expectations of the block and fail once, with all of them, at its end."""
    collected: list[str] = []
    token = _soft.set(collected)
    try:
        yield
    finally:
        _soft.reset(token)
    if collected:
        listed = "\n".join(f"{number}. {text}" for number, text in enumerate(collected, 1))
        raise AssertionError(f"{len(collected)} expectations failed:\n{listed}")
