"""Calls mngr through a fork server (`fork_server.py`), which saves the second that every start of mngr costs.

The first call starts the server; a later call restarts it when mngr, its plugins or its settings have changed on
disk, or when the server has died. If it can't be started, every call is a plain one, and this is logged once.
"""

import contextlib
import json
import os
import re
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

import structlog
from anyio import CancelScope, Lock, create_task_group, move_on_after, wait_readable

from supervisor.adapters.mngr import fork_server
from supervisor.adapters.mngr.answers import plain_words
from supervisor.adapters.mngr.calls import Running
from supervisor.adapters.mngr.plain import PlainTransport, resolved
from supervisor.adapters.mngr.settings import MngrSettings
from supervisor.adapters.pipes import Pipe
from supervisor.adapters.process import Program

READY_SECONDS = 60.0
#: A killed call ends at once; if the server does not report its end within this time, the server hangs.
HUNG_SECONDS = 5.0
#: How long the server may take to end by itself when the device closes: `systemctl stop` waits for it.
CLOSE_SECONDS = 1.0
MAX_DEATHS = 3
MAX_PACKET = 128 * 2**10
SHEBANG = re.compile(r"#!(/\S*python[\d.]*)\s*$|^'''exec' \"?(/[^\"]*?python[\d.]*)\"? ", re.MULTILINE)

log = structlog.get_logger(__name__)

type Stamp = tuple[tuple[str, int], ...]


class CannotServe(Exception):
    """Why there is no fork server; every call is then a plain one."""


class WarmRunning:
    """A call in the server. Its exit code comes through a pipe of its own, which closes when the server ends."""

    def __init__(self, server: "Server", number: int, told: int) -> None:
        self._server, self._number, self._told = server, number, told
        self._code: int | None = None

    async def wait(self) -> int:
        if self._code is None:
            await wait_readable(self._told)
            said = os.read(self._told, 20)
            os.close(self._told)
            self._code = int(said) if said else -signal.SIGKILL
            self._server.has_answered(is_told=bool(said))
        return self._code

    def kill(self) -> None:
        if self._code is None:
            self._server.kill(self._number)

    async def end(self) -> None:
        if self._code is not None:
            return
        with CancelScope(shield=True):
            self.kill()
            with move_on_after(HUNG_SECONDS):
                await self.wait()
            if self._code is None:  # the server hangs; its calls end with it
                await self._server.close()
                await self.wait()


class Server:
    """One fork server and the calls it has under way."""

    def __init__(self, program: Program, link: socket.socket) -> None:
        self._program, self._link = program, link
        self._closing = Lock()
        self._count = self._under_way = 0
        self._is_retired = self._is_closed = False
        self.answers = 0

    @property
    def has_ended(self) -> bool:
        return self._program.has_ended

    @property
    def is_alive(self) -> bool:
        return not self._is_closed and not self.has_ended

    async def ready(self) -> list[str] | None:
        """The paths that it imports from, or None if it has ended."""
        await wait_readable(self._link)
        try:
            packet = self._link.recv(MAX_PACKET)
        except OSError:
            packet = b""
        return [str(path) for path in json.loads(packet)["paths"]] if packet else None

    def start(self, argv: Sequence[str], settings: MngrSettings, fds: tuple[int, int]) -> WarmRunning | None:
        """None if the call does not fit into a packet or the server does not accept it."""
        self._count += 1
        request = {"id": self._count, "argv": argv, "cwd": str(settings.cwd), "env": settings.environment()}
        packet = json.dumps(request).encode()
        if len(packet) > MAX_PACKET:
            return None
        told, telling = os.pipe2(os.O_CLOEXEC)
        try:
            socket.send_fds(self._link, [packet], (*fds, telling))
        except OSError:
            os.close(told)
            return None
        finally:
            os.close(telling)
        self._under_way += 1
        return WarmRunning(self, self._count, told)

    def kill(self, number: int) -> None:
        try:
            self._link.send(json.dumps({"kill": number}).encode())
        except OSError:
            self.leave()

    def has_answered(self, *, is_told: bool) -> None:
        self._under_way -= 1
        self.answers += is_told
        if self._is_retired and not self._under_way:
            self.leave()

    def retire(self) -> None:
        """Take no more calls; end with the last one."""
        self._is_retired = True
        if not self._under_way:
            self.leave()

    def leave(self) -> None:
        """Close the link, upon which the server kills its running calls and ends."""
        self._is_closed = True
        self._link.close()

    async def close(self) -> None:
        self.leave()
        with CancelScope(shield=True):
            async with self._closing:
                if self._program.code is None:
                    with move_on_after(CLOSE_SECONDS):
                        await self._program.wait()
                await self._program.end()


class WarmTransport:
    def __init__(self, settings: MngrSettings, plain: PlainTransport) -> None:
        self._settings, self._plain = settings, plain
        self._starting = Lock()
        self._server: Server | None = None
        self._stamp: Stamp = ()
        self._paths: list[str] = []
        self._retired: list[Server] = []
        self._deaths = 0
        self.fallback = self.interpreter = ""

    @property
    def is_up(self) -> bool:
        return self._server is not None and self._server.is_alive

    async def start(self, argv: Sequence[str], stdout: int, stderr: int) -> Running:
        await self.prepare()
        running = self._server.start(argv, self._settings, (stdout, stderr)) if self._server else None
        return running or await self._plain.start(argv, stdout, stderr)

    async def prepare(self) -> None:
        """Ensure a running server that has loaded mngr as it is on disk now, or a reason why there is none."""
        async with self._starting:
            stamp = self._now()
            if stamp == self._stamp and (self.is_up or self.fallback):
                return
            if self._server is not None:
                self._deaths = 0 if self._server.is_alive or self._server.answers else self._deaths + 1
                self._server.retire()
                self._retired = [s for s in self._retired if not s.has_ended] + [self._server]
                self._server = None
            try:
                if self._deaths >= MAX_DEATHS:
                    raise CannotServe(f"it died {self._deaths} times in a row without an answer")
                self._server = await self._started()
                self.fallback = ""
            except CannotServe as why:
                self.fallback = str(why)
                log.warning("mngr is called without a fork server", why=self.fallback)
            self._stamp = self._now()

    async def close(self) -> None:
        async with create_task_group() as closing:
            for server in [*self._retired, *([self._server] if self._server else [])]:
                closing.start_soon(server.close)

    async def _started(self) -> Server:
        self.interpreter = interpreter_of(resolved(self._settings))
        with contextlib.closing(Pipe(2**16)) as complaints:
            server = self._begun(complaints.into)
            complaints.given()
            try:
                paths = await _ready(server, complaints)
            except BaseException:
                await server.close()
                raise
            if paths is None:
                last = complaints.all().decode(errors="replace").strip().rpartition("\n")[2]
                raise CannotServe(plain_words(last) or "it ended without a word")
        self._paths = paths
        return server

    def _begun(self, stderr: int) -> Server:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        argv, env = [self.interpreter, "-P", fork_server.__file__], self._settings.environment()
        with theirs:
            try:
                program = Program(argv, env=env, cwd=self._settings.cwd, stdin=theirs.fileno(), stderr=stderr)
            except OSError as error:
                ours.close()
                raise CannotServe(f"{self.interpreter} can't be run: {error.strerror}") from error
        return Server(program, ours)

    def _now(self) -> Stamp:
        """Modification times of the files that a server reads only at its start."""
        host_dir, cwd = self._settings.host_dir, self._settings.cwd
        config = [host_dir / "config.toml", *sorted(host_dir.glob("profiles/*/settings.toml"))]
        project = [cwd / ".mngr" / name for name in ("settings.toml", "settings.local.toml")]
        command = resolved(self._settings)
        return tuple(
            (str(path), os.stat(path).st_mtime_ns)  # noqa: PTH116
            for path in [command, command.resolve(), *map(Path, self._paths), *config, *project]
            if path.exists()
        )


async def _ready(server: Server, complaints: Pipe) -> list[str] | None:
    """The paths that the server imports from; None: it has ended."""
    paths = None
    async with create_task_group() as hearing:
        hearing.start_soon(complaints.hear)
        with move_on_after(READY_SECONDS) as limit:
            paths = await server.ready()
        hearing.cancel_scope.cancel()
    if paths is None:
        await server.close()
    if limit.cancelled_caught:
        raise CannotServe(f"it was not ready within {READY_SECONDS:g} s")
    return paths


def interpreter_of(command: Path) -> str:
    """The Python in the command's first line, or after the shell's `exec` if that line would be too long."""
    try:
        with command.open("rb") as file:
            head = file.read(1024).decode("utf-8", "replace")
    except OSError as error:
        raise CannotServe(f"{command} can't be read: {error.strerror}") from error
    found = SHEBANG.search(head) if head.startswith("#!") else None
    if found is None:
        raise CannotServe(f"{command} is no Python script with its interpreter's path in the first line")
    return found[1] or found[2]
