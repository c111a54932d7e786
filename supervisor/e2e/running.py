"""Runs a command: one loop reads its output, detects its end, and enforces its deadline.

The loop waits for three things at once: output, the shell's end (a pidfd), and the deadline. After the end it waits
a moment for short-lived processes, ends the rest, reads what is left in the pipes, and closes them; so a background
child that keeps a pipe open can't block it. No exception leaves a process behind.
"""

import contextlib
import os
import selectors
import subprocess
import threading
import time
from codecs import IncrementalDecoder
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from supervisor.e2e import launch as launching
from supervisor.e2e import processes
from supervisor.e2e.launch import Launch
from supervisor.e2e.log import Log
from supervisor.e2e.output import Capped, Stream, decoder
from supervisor.e2e.processes import LeftBehind, Tree, name_of
from supervisor.e2e.result import TIMED_OUT, CommandResult, exit_of

SETTLE_SECONDS = 0.1  # for processes that end right after the shell, such as `> >(tee file)`
_CHUNK = 1 << 16
_TICK_SECONDS = 0.25

type Listener = Callable[[Stream, str], None]


@dataclass(slots=True)
class _Channel:
    stream: Stream
    decoder: IncrementalDecoder = field(default_factory=decoder)


class Running:
    """A started command. Call `finish` once, in any thread; it returns the result."""

    def __init__(self, launch: Launch, log: Log, listener: Listener | None = None) -> None:
        self.launch = launch
        self.tree = Tree(launch.token)
        self._log = log
        self._listener = listener
        self._texts = {"stdout": Capped(), "stderr": Capped(), "output": Capped()}
        self._background: tuple[LeftBehind, ...] = ()
        self._select = selectors.DefaultSelector()
        self._start()

    def _start(self) -> None:
        self.started_at = datetime.now(UTC)
        self._log.start(self.launch.command, self.launch.comment, self.launch.cwd, self.started_at.isoformat())
        self._begun = time.monotonic()
        self.tree.__enter__()
        try:
            with processes.starting:
                started = launching.start(self.launch)
                self.tree.started(started.process.pid)
        except BaseException as error:
            self._log.note(f"not started: {error}")
            self.tree.__exit__()
            self._select.close()
            raise
        self._process = started.process
        self.input_fd = started.input_fd
        self._closing = threading.Lock()
        self._channels = {fd: _Channel(stream) for fd, stream in started.outputs.items()}
        self._pidfd = os.pidfd_open(started.process.pid)
        for fd in (*self._channels, self._pidfd):
            self._select.register(fd, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        return self._process.pid

    def finish(self) -> CommandResult:
        timed_out = False
        try:
            timed_out = not self._wait_for_the_shell()
            self._background = self._end_all() if timed_out else self._left_behind()
            self._read_the_rest()
        except BaseException as error:
            self.tree.end(0)
            self._log.note(f"killed: {type(error).__name__}")
            raise
        finally:
            result = self._close(timed_out)
        return result

    def _wait_for_the_shell(self) -> bool:
        deadline = self._begun + self.launch.timeout
        while self._process.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._read_ready(min(left, _TICK_SECONDS))
        self.tree.shell_ended()
        return True

    def _read_ready(self, timeout: float) -> bool:
        """Read what arrives within `timeout`; returns whether there was anything."""
        ready = self._select.select(timeout)
        if not ready:
            self.tree.orphans()  # reap orphans of a long command as they end
        for key, _ in ready:
            if key.fd == self._pidfd:
                self._select.unregister(self._pidfd)
            else:
                self._read(key.fd)
        return bool(ready)

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, _CHUNK)
        except OSError:  # EIO: the last program has closed the terminal
            data = b""
        channel = self._channels[fd]
        self._take(channel.stream, channel.decoder.decode(data, final=not data))
        if not data:
            self._forget(fd)

    def _forget(self, fd: int) -> None:
        self._select.unregister(fd)
        del self._channels[fd]
        if fd != self.input_fd:  # a terminal has one descriptor for both directions, which is closed at the end
            os.close(fd)

    def _take(self, stream: Stream, text: str) -> None:
        if not text:
            return
        self._texts[stream].add(text)
        self._texts["output"].add(text)
        self._log.output(stream, text)
        if self._listener is not None:
            self._listener(stream, text)

    # --- after the shell's end --------------------------------------------------------------------------------
    def _left_behind(self) -> tuple[LeftBehind, ...]:
        """End the processes that are left a moment after the shell's end, unless they are to be kept."""
        until = time.monotonic() + SETTLE_SECONDS
        while self._channels and self._read_ready(0) and time.monotonic() < until:
            pass
        while (alive := self.tree.alive()) and time.monotonic() < until:
            self._pause(0.01)
        if self.launch.keep_background or not alive:
            return tuple(name_of(pid) for pid in sorted(alive))
        return self._end_all()

    def _end_all(self) -> tuple[LeftBehind, ...]:
        named = {pid: name_of(pid) for pid in self.tree.alive()}
        ended = self.tree.end(self.launch.grace, meanwhile=self._pause)
        return tuple(named.get(pid) or LeftBehind(pid, "?") for pid in sorted(ended | set(named)))

    def _pause(self, timeout: float) -> None:
        """Wait while reading, so that a process that is being ended is never blocked on a full pipe."""
        if not self._read_ready(timeout):
            return
        time.sleep(0.001)

    def _read_the_rest(self) -> None:
        if self._background and self.launch.keep_background:
            return
        until = time.monotonic() + SETTLE_SECONDS
        while self._channels and time.monotonic() < until:
            self._read_ready(0.01)

    # --- the result -------------------------------------------------------------------------------------------
    def _close(self, timed_out: bool) -> CommandResult:
        duration = time.monotonic() - self._begun
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self.tree.__exit__()
        os.close(self._pidfd)
        self._close_outputs()
        result = self._result(duration, timed_out)
        self._log.end(result)
        return result

    def _close_outputs(self) -> None:
        if self._background and self.launch.keep_background and self._channels:
            threading.Thread(target=self._serve_background, daemon=True).start()
            return
        for fd, channel in list(self._channels.items()):
            self._take(channel.stream, channel.decoder.decode(b"", final=True))
            self._forget(fd)
        self._select.close()
        self.close_input()

    def close_input(self) -> None:
        """Close its standard input, or hang up its terminal. Both the test and the reading thread may call this."""
        with self._closing:
            if self.input_fd >= 0:
                os.close(self.input_fd)
                self.input_fd = -1

    def _serve_background(self) -> None:
        """Discard what kept processes print: a full or closed pipe would stop them."""
        while self._channels:
            for key, _ in self._select.select():
                with contextlib.suppress(OSError):
                    if key.fd in self._channels and os.read(key.fd, _CHUNK):
                        continue
                self._forget(key.fd)
        self._select.close()
        self.close_input()

    def _result(self, duration: float, timed_out: bool) -> CommandResult:
        code, signal = exit_of(self._process.returncode or 0)
        return CommandResult(
            command=self.launch.command,
            exit_code=TIMED_OUT if timed_out else code,
            stdout=self._texts["stdout"].text,
            stderr=self._texts["stderr"].text,
            output=self._texts["output"].text,
            duration_seconds=duration,
            cwd=self.launch.cwd,
            started_at=self.started_at,
            number=self._log.number,
            comment=self.launch.comment,
            signal=signal,
            timed_out=timed_out,
            truncated=any(text.left_out for text in self._texts.values()),
            background=self._background,
            stdout_path=self._log.path("stdout"),
            stderr_path=self._log.path("stderr"),
            cast=self.launch.cast,
        )

    def text(self) -> str:
        """Its output so far."""
        return self._texts["output"].text
