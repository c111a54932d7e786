"""Keeps an agent inside of its walls, between its terminal and the agent: as `trials/keeper` does for a run.

It is given to a fresh interpreter as text, after that of `walls/enclosing`, `walls/watching`, `trials/ending` and
`confining`, and imports nothing of ours. Its arguments are the agent's argv.

    the keeper     is the program of the agent's pane; when it ends, the kernel kills all below
    process 1      builds the walls, watches what is used, and relays what is typed and what is shown
    the agent      has a terminal of its own, so that it can type nothing into the pane's, where a shell of the host's
    reads

Whoever stops an agent signals all its processes, and checks again: so a signalled keeper gives it time to end.
"""

import _signal as signal  # type: ignore[import-not-found] # the one that the rest of the text uses
import ctypes
import fcntl
import os
import select
import sys
import termios
import time
from contextlib import suppress

if __name__ != "__main__":
    from typing import Any

    from supervisor.verification.trials.ending import reaped
    from supervisor.verification.walls.enclosing import Sealed, Unbuilt, become, build, keep_descriptors, leave_host
    from supervisor.verification.walls.watching import Watch, limit_processes
    from supervisor.walled.confining import confine

#: defined at the start of the text
WALLS: dict[str, Any] = globals().get("WALLS", {})

_KILL_CHILD_ON_DEATH = 1  # PR_SET_PDEATHSIG
_LOOK_SECONDS, _GRACE_SECONDS = 1.0, 5
_MOST_TYPED, _PIECE = 2**16, 2**14
_UNBUILT = 125
_SAID = {
    "processes": "more processes than `sandbox_processes` allows",
    "memory": "more memory than `sandbox_memory_mb` allows",
}

_kernel_calls = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    keep_descriptors()
    before = termios.tcgetattr(0) if os.isatty(0) and os.isatty(1) else None
    try:
        leave_host(os.getuid(), os.getgid(), network=WALLS["network"])
        code, *met = _kept(sys.argv[1:], before)
    except Unbuilt as problem:
        code, met = str(_UNBUILT), [f"no walls can be built: {problem}"]
    finally:
        if before is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, before)
    for each in met:
        os.write(2, f"\nthe walls of this agent: {each}\n".encode())
    os._exit(int(code) if int(code) >= 0 else 128 - int(code))


def _kept(argv: list[str], before: list[Any] | None) -> list[str]:
    """Its exit code, and the limit that it exceeded, if any."""
    told, telling = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(told)
        _be_first(argv, before, telling)
        os._exit(0)
    os.close(telling)
    for each in (signal.SIGINT, signal.SIGQUIT, signal.SIGTTOU, signal.SIGTSTP):
        signal.signal(each, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: signal.alarm(_GRACE_SECONDS))
    signal.signal(signal.SIGWINCH, lambda *_: os.kill(first, signal.SIGWINCH))
    os.waitpid(first, 0)
    said = os.read(told, 1000).decode(errors="replace") or str(-signal.SIGKILL)
    if said.startswith("unbuilt "):
        raise Unbuilt(said.removeprefix("unbuilt "))
    code, _, met = said.partition(" ")
    return [code, f"it was ended, because it took {_SAID.get(met, met)}"] if met else [code]


def _be_first(argv: list[str], before: list[Any] | None, telling: int) -> None:
    _kernel_calls.prctl(_KILL_CHILD_ON_DEATH, signal.SIGKILL, 0, 0, 0)
    try:
        build(WALLS)
        os.chdir(WALLS["cwd"])
        waking = _woken_by(signal.SIGCHLD, signal.SIGWINCH)
        screen = Screen(before, WALLS["outer"]) if before is not None else None
        sealed = Sealed(os.getuid(), os.getgid(), WALLS["outer"])
        watch = Watch(WALLS["limits"])
        agent = _start(argv, sealed, screen)
        sealed.let(agent)
    except (OSError, Unbuilt) as error:
        os.write(telling, f"unbuilt {error}".encode())
        return
    code, hit = None, ""
    looks_at = 0.0
    while code is None and not hit:
        signals = screen.carry(waking, _LOOK_SECONDS) if screen else _wait(waking, _LOOK_SECONDS)
        if screen and signal.SIGWINCH in signals:
            screen.fit()
        code = reaped(agent)
        if code is None and time.monotonic() > looks_at:
            hit, looks_at = watch.exceeded(), time.monotonic() + _LOOK_SECONDS
    if screen:
        screen.show_the_rest()
    os.write(telling, f"{-signal.SIGKILL if code is None else code} {hit}".strip().encode())


def _woken_by(*signals: int) -> int:
    """A descriptor that can be read once one of these signals has arrived."""
    waking, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    for each in signals:
        signal.signal(each, lambda *_: None)
    return waking


def _wait(waking: int, seconds: float) -> bytes:
    return os.read(waking, 100) if select.select([waking], [], [], seconds)[0] else b""


def _start(argv: list[str], sealed: Sealed, screen: "Screen | None") -> int:
    agent = os.fork()
    if agent:
        return agent
    try:
        os.setsid()
        if screen is not None:
            screen.take()
        limit_processes(WALLS["limits"]["processes"])
        sealed.enter(is_scoped=False)
        confine(WALLS["free"])
        _kernel_calls.prctl(_KILL_CHILD_ON_DEATH, signal.SIGKILL, 0, 0, 0)
        signal.set_wakeup_fd(-1)
        for each in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(each, signal.SIG_DFL)
        become(argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


class Screen:
    """The pane's terminal, and the agent's own behind it."""

    def __init__(self, before: list[Any], owner: int) -> None:
        self._ours, self._agents = os.openpty()
        os.fchown(self._agents, owner, -1)
        os.set_blocking(self._ours, False)
        termios.tcsetattr(self._agents, termios.TCSANOW, before)
        self._typed, self._is_open = b"", True
        self.fit()
        _make_raw(before)

    def take(self) -> None:
        """Called in the agent's process. If its stderr goes elsewhere, it still does."""
        fcntl.ioctl(self._agents, termios.TIOCSCTTY, 0)
        for each in (0, 1, 2) if os.isatty(2) else (0, 1):
            os.dup2(self._agents, each)

    def fit(self) -> None:
        """Adopt the size of the pane. The foreground processes repaint, whether or not the size has changed."""
        size = fcntl.ioctl(1, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(self._agents, termios.TIOCSWINSZ, size)
        group = int.from_bytes(fcntl.ioctl(self._ours, termios.TIOCGPGRP, bytes(4)), sys.byteorder)
        if group > 1:
            with suppress(OSError):
                os.kill(-group, signal.SIGWINCH)

    def carry(self, waking: int, seconds: float) -> bytes:
        """Relay what is typed and what is shown, for so long or until signals arrive, which are returned."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            reading = [waking, self._ours, *([0] if self._is_open and len(self._typed) < _MOST_TYPED else [])]
            readable, writable, _ = select.select(reading, [self._ours] if self._typed else [], [], left)
            if 0 in readable:
                self._typed += self._hear()
            if writable:
                self._typed = self._typed[_written(self._ours, self._typed) :]
            if self._ours in readable:
                self._show()
            if waking in readable:
                return os.read(waking, 100)
        return b""

    def show_the_rest(self) -> None:
        while self._show():
            pass

    def _hear(self) -> bytes:
        try:
            heard = os.read(0, _PIECE)
        except OSError:
            heard = b""
        self._is_open = bool(heard)
        return heard

    def _show(self) -> bool:
        try:
            shown = os.read(self._ours, _PIECE)
            while shown:
                shown = shown[os.write(1, shown) :]
        except OSError:
            return False
        return True


def _written(number: int, text: bytes) -> int:
    try:
        return os.write(number, text)
    except OSError:
        return 0


def _make_raw(before: list[Any]) -> None:
    """The pane's terminal passes on what is typed unchanged: the agent's own makes lines and signals of it."""
    now = list(before)
    now[0] &= ~(termios.BRKINT | termios.ICRNL | termios.INPCK | termios.ISTRIP | termios.IXON)
    now[1] &= ~termios.OPOST
    now[2] = now[2] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
    now[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    now[6] = [*now[6]]
    now[6][termios.VMIN], now[6][termios.VTIME] = 1, 0
    termios.tcsetattr(0, termios.TCSANOW, now)


if __name__ == "__main__":
    main()
