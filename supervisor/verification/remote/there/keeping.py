"""Runs a program below the keeper, and receives from the reporter inside it: like `trials/running`, with threads.

The keeper's text is the same one that the daemon uses.
"""

import __future__

import os
import pkgutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from supervisor.verification.trials.speaking import is_of_ours

MAX_TAIL = 16 * 2**10
#: of what the reporter sends
MAX_BYTES = 8 * 2**20
_MAX_RECORD = 2**18
_REST_SECONDS = 10.0
_DETECTION_SECONDS = 20.0
_PACKAGES = (("walls", "enclosing"), ("walls", "watching"), ("trials", "ending"), ("trials", "keeper"))

#: what Python has from 3.12 on
_OLDER = """
import os, ctypes
if not hasattr(os, "unshare"):
    def _unshare(flags, _c=ctypes.CDLL(None, use_errno=True)):
        if _c.unshare(flags):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.unshare = _unshare
    os.CLONE_NEWNS, os.CLONE_NEWIPC, os.CLONE_NEWUSER = 0x20000, 0x8000000, 0x10000000
    os.CLONE_NEWPID, os.CLONE_NEWNET = 0x20000000, 0x40000000
"""


@dataclass
class Heard:
    records: list[str] = field(default_factory=list)
    is_connected: bool = False
    is_forged: bool = False
    is_too_much: bool = False


@dataclass
class Kept:
    #: None: it did not end in time, or its keeper was killed
    code: int | None
    tail: str
    is_lost: bool = False
    met: list[str] = field(default_factory=list)
    #: why its walls can't be built
    unbuilt: str = ""
    heard: Heard = field(default_factory=Heard)


class Listener:
    """Receives from the reporter: over one connection, from a process below this one."""

    def __init__(self, name: str, nonce: str) -> None:
        self.name, self._nonce = name, nonce
        self.heard = Heard()
        self._silent = threading.Event()

    def listen(self, leash: socket.socket) -> None:
        """The keeper makes the socket, in the program's network."""
        try:
            _, numbers, _, _ = socket.recv_fds(leash, 1, 1)
            if numbers:
                with socket.socket(fileno=numbers[0]) as listener:
                    self._accept(listener)
        except OSError:
            pass
        finally:
            self._silent.set()

    def _accept(self, listener: socket.socket) -> None:
        listener.settimeout(1.0)
        while not self.heard.is_connected and not self._silent.is_set():
            try:
                line, _ = listener.accept()
            except TimeoutError:
                continue
            with line:
                if is_of_ours(line):
                    listener.close()
                    self.heard.is_connected = True
                    line.settimeout(None)
                    line.send(self._nonce.encode())
                    self._hear(line)

    def _hear(self, line: socket.socket) -> None:
        size = 0
        while data := line.recv(_MAX_RECORD):
            size += len(data)
            if size > MAX_BYTES:
                self.heard.is_too_much = True
            else:
                self.heard.records.append(data.decode(errors="replace"))

    def rest(self) -> Heard:
        """All that was received; all processes of the run have ended, and what they sent is in the socket."""
        if self.heard.is_connected:
            self._silent.wait(_REST_SECONDS)
        self._silent.set()
        return self.heard


class _Tail:
    def __init__(self, number: int) -> None:
        self._number, self._kept = number, b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while data := os.read(self._number, 2**16):
            self._kept = (self._kept + data)[-MAX_TAIL:]

    def end(self) -> str:
        self._thread.join(_REST_SECONDS)
        return self._kept.decode(errors="replace")


def run(
    argv: Sequence[str],
    where: str,
    env: Mapping[str, str],
    timeout: float,
    means: str,
    *,
    plan: Mapping[str, Any] | None = None,
    listener: Listener | None = None,
) -> Kept:
    leash, at_keeper = socket.socketpair()
    told, tells = os.pipe()
    printed, prints = os.pipe()
    words = [means, str(at_keeper.fileno()), str(tells), listener.name if listener else "", *argv]
    keeper = _keeper(_text(words, plan or {}), where, env, prints, (at_keeper.detach(), tells))
    tail = _Tail(printed)
    if listener is not None:
        threading.Thread(target=listener.listen, args=(leash,), daemon=True).start()
    is_late = _is_late(keeper, timeout, lambda: leash.shutdown(socket.SHUT_RDWR))
    said = os.read(told, 2**14).decode(errors="replace")
    kept = _kept(said, tail.end(), is_late=is_late)
    if listener is not None:
        kept.heard = listener.rest()
    leash.close()
    os.close(told)
    os.close(printed)
    return kept


def _keeper(
    text: bytes, where: str, env: Mapping[str, str], prints: int, ends: tuple[int, int]
) -> "subprocess.Popen[bytes]":
    """`ends`: descriptors that only the keeper has from then on."""
    number = _memory(text)
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", f"/proc/self/fd/{number}"],
            env=dict(env),
            cwd=where,
            stdin=subprocess.DEVNULL,
            stdout=prints,
            stderr=prints,
            pass_fds=(number, *ends),
            start_new_session=True,
        )
    finally:
        for each in (number, prints, *ends):
            os.close(each)


def _is_late(keeper: "subprocess.Popen[bytes]", timeout: float, end: Callable[[], None]) -> bool:
    try:
        keeper.wait(timeout)
    except subprocess.TimeoutExpired:
        end()
        keeper.wait()
        return True
    return False


def _kept(said: str, tail: str, *, is_late: bool) -> Kept:
    if said.startswith("unbuilt "):
        return Kept(None, tail, unbuilt=said[len("unbuilt ") :])
    if is_late or not said:
        return Kept(None, tail, is_lost=not is_late)
    number, *met = said.split()
    return Kept(int(number), tail, met=met)


def _memory(text: bytes) -> int:
    """Holds the text in memory, because the program could read it in a file."""
    number = os.memfd_create("text")
    os.write(number, text)
    os.lseek(number, 0, os.SEEK_SET)
    return number


def _text(words: Sequence[str], plan: Mapping[str, Any]) -> bytes:
    """The arguments are at the head of the text, so that they are on no command line."""
    flags = __future__.annotations.compiler_flag
    parts = [pkgutil.get_data(f"supervisor.verification.{folder}", f"{name}.py") or b"" for folder, name in _PACKAGES]
    source = b"\n".join(parts)
    head = f"{_OLDER}\nimport sys; sys.argv[1:] = {list(words)!r}; WALLS = {dict(plan)!r}\n"
    body = f"exec(compile({source!r}, 'keeper', 'exec', {flags}, dont_inherit=True))\n"
    return (head + body).encode(errors="surrogateescape")


def means_here() -> str:
    """How processes are ended without walls, found out by a try."""
    done = run(["true"], "/", {"PATH": os.environ.get("PATH", os.defpath)}, _DETECTION_SECONDS, "namespace")
    return "namespace" if done.code == 0 else "subreaper"
