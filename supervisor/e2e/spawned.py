"""A background command: the test waits for its output and stops it."""

import contextlib
import os
import re
import threading
import time
from typing import Self

from supervisor.e2e import processes
from supervisor.e2e.launch import Launch
from supervisor.e2e.log import Log
from supervisor.e2e.output import Stream
from supervisor.e2e.result import CommandResult
from supervisor.e2e.running import Running


class Spawned:
    """A running command. Used as a context manager, it is stopped at the end of the block."""

    def __init__(self, launch: Launch, log: Log) -> None:
        self._changed = threading.Condition()
        self._result: CommandResult | None = None
        self._error: BaseException | None = None
        self.command = launch.command
        self._keeps_background = launch.keep_background
        self._running = Running(launch, log, listener=self._hear)
        self._thread = threading.Thread(target=self._finish, name=f"e2e: {launch.command[:40]}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _hear(self, stream: Stream, text: str) -> None:
        with self._changed:
            self._changed.notify_all()

    def _finish(self) -> None:
        try:
            self._result = self._running.finish()
        except BaseException as error:
            self._error = error
        finally:
            self._finished(self._result)
            with self._changed:
                self._changed.notify_all()

    def _finished(self, result: CommandResult | None) -> None:
        """Called once, in the thread that detects the end."""

    # --- look -------------------------------------------------------------------------------------------------
    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def output(self) -> str:
        """Its output so far, both streams."""
        return self._running.text()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait_for(self, pattern: str | re.Pattern[str], timeout: float = 10.0) -> re.Match[str]:
        """Wait until the output matches; fails at the timeout, or if the command ends without a match."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while (found := re.search(pattern, self.output)) is None:
                left = deadline - time.monotonic()
                if left <= 0 or not self.is_running:
                    raise AssertionError(self._never(pattern, timeout))
                self._changed.wait(min(left, 0.1))
        return found

    def _never(self, pattern: str | re.Pattern[str], timeout: float) -> str:
        wanted = pattern if isinstance(pattern, str) else pattern.pattern
        how = f"within {timeout:g} s" if self.is_running else "before it ended"
        return f"`{self.command}` did not print {wanted!r} {how}; it printed:\n{self.output[-4000:]}"

    # --- act --------------------------------------------------------------------------------------------------
    def send(self, text: str) -> None:
        """Write to its standard input, unchanged: include the newline of a line."""
        data = text.encode()
        try:
            while data:
                data = data[os.write(self._running.input_fd, data) :]
        except OSError as error:
            raise AssertionError(f"`{self.command}` accepts no more input: {error.strerror}") from error

    def close_input(self) -> None:
        """Close its standard input."""
        self._running.close_input()

    def wait(self, timeout: float = 30.0) -> CommandResult:
        """Wait until it ends by itself."""
        self._thread.join(timeout)
        if self.is_running:
            raise AssertionError(f"`{self.command}` did not end within {timeout:g} s")
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def stop(self, grace: float = 2.0) -> CommandResult:
        """Terminate it, kill it after `grace`, and end the processes it started, unless kept.

        Safe to call again.
        """
        if self.is_running:
            with contextlib.suppress(ProcessLookupError):
                processes.end(self._everything, grace)
        return self.wait(grace + 10)

    def _everything(self) -> set[int]:
        if not self.is_running:
            return set()
        found = self._running.tree.everything()
        return {pid for pid in found if processes.session_of(pid) == self.pid} if self._keeps_background else found
