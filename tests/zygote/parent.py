"""The zygote itself: it imports, listens, forks for each caller, and tells it how the program ended.

    python -m tests.zygote.parent SOCKET READY-FD MODULES PADDING

It has one thread, and ends, with all its programs, when its standard input does.
"""

import gc
import importlib
import marshal
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.zygote import child

NUMBER_BYTES = 8
DESCRIPTORS = 4
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    pid: int
    pidfd: int
    caller: socket.socket


class Zygote:
    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._select = selectors.DefaultSelector()
        self._running: set[Running] = set()
        self._select.register(sys.stdin.fileno(), selectors.EVENT_READ, self._end)
        self._select.register(listener, selectors.EVENT_READ, self._called)
        self._asked: tuple[dict[str, Any], list[int]] | None = None

    def serve(self) -> tuple[dict[str, Any], list[int]]:
        """In the zygote this never returns; in each fork it returns what was asked for, and its descriptors."""
        while self._asked is None:
            for key, _ in self._select.select():
                if self._select.get_map().get(key.fd) is key:  # what came before it may have taken it away
                    key.data()
                if self._asked is not None:
                    break
        return self._asked

    def _end(self) -> None:
        for running in self._running:
            os.kill(running.pid, signal.SIGKILL)
        shutil.rmtree(Path(sys.argv[1]).parent, ignore_errors=True)
        os._exit(0)

    def _called(self) -> None:
        caller, _ = self._listener.accept()
        caller.settimeout(PATIENCE_SECONDS)
        try:
            request, descriptors = heard(caller)
        except (OSError, EOFError, ValueError):  # it was killed meanwhile
            caller.close()
            return
        pid = os.fork()
        if pid == 0:
            self._asked = request, descriptors
            self._forget(caller)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        self._follow(Running(pid, os.pidfd_open(pid), caller))

    def _forget(self, caller: socket.socket) -> None:
        """In a fork: a descriptor that is closed later may be one of the program's by then."""
        self._select.close()
        for mine in (self._listener, caller, *(running.caller for running in self._running)):
            mine.close()

    def _follow(self, running: Running) -> None:
        self._running.add(running)
        tell(running.caller, running.pid)
        self._select.register(running.caller, selectors.EVENT_READ, lambda: self._left(running))
        self._select.register(running.pidfd, selectors.EVENT_READ, lambda: self._ended(running))

    def _ended(self, running: Running) -> None:
        """It is only waited for when its caller has gone: until then nobody else gets its number."""
        self._select.unregister(running.pidfd)
        found = os.waitid(os.P_PIDFD, running.pidfd, os.WEXITED | os.WNOWAIT)
        assert found is not None
        tell(running.caller, found.si_status if found.si_code == os.CLD_EXITED else -found.si_status)

    def _left(self, running: Running) -> None:
        """The caller has ended, or was killed: then its program is, too."""
        self._select.unregister(running.caller)
        os.kill(running.pid, signal.SIGKILL)
        os.waitpid(running.pid, 0)
        if running.pidfd in self._select.get_map():
            self._select.unregister(running.pidfd)
        os.close(running.pidfd)
        running.caller.close()
        self._running.discard(running)


def heard(caller: socket.socket) -> tuple[dict[str, Any], list[int]]:
    length, descriptors, _, _ = socket.recv_fds(caller, NUMBER_BYTES, DESCRIPTORS)
    if len(length) < NUMBER_BYTES:
        raise EOFError
    with caller.makefile("rb") as file:
        asked = marshal.loads(file.read(int.from_bytes(length, sys.byteorder)))
    asked["caller"] = int.from_bytes(caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4), sys.byteorder)
    return asked, descriptors


def tell(caller: socket.socket, number: int) -> None:
    with suppress(OSError):  # it has gone, which is seen next
        caller.sendall(number.to_bytes(NUMBER_BYTES, sys.byteorder, signed=True))


def import_all(names: Sequence[str]) -> None:
    """`package.*`: with all its modules."""
    for name in names:
        module = importlib.import_module(name.removesuffix(".*"))
        if name.endswith(".*"):
            for found in pkgutil.iter_modules(module.__path__, f"{module.__name__}."):
                importlib.import_module(found.name)
    assert threading.active_count() == 1, "a thread would be missing in a fork"


def main() -> None:
    path, ready, modules = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(",")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who interrupts the tests means them; they end this one
    import_all(modules)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    os.write(ready, b"ready")
    os.close(ready)
    gc.collect()
    gc.freeze()  # pages that nobody writes to stay shared
    asked, descriptors = Zygote(listener).serve()
    child.become(asked, descriptors)
    child.run(asked["argv"])


if __name__ == "__main__":
    main()
