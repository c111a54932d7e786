"""Calls mngr through a fork server (`fork_server.py`), which saves the second that every start of mngr costs.

The server is started by the first call and again when mngr, its plugins or its settings change on disk, or when it
has died. Where it can't be started every call is a plain one, and that is said once.
"""

import asyncio
import contextlib
import json
import os
import re
import socket
from collections.abc import Sequence
from pathlib import Path

import structlog

from supervisor.adapters.mngr import fork_server
from supervisor.adapters.mngr.answers import plain_words
from supervisor.adapters.mngr.calls import Running, Tap, end
from supervisor.adapters.mngr.plain import PlainRunning, PlainTransport, resolved
from supervisor.adapters.mngr.settings import MngrSettings

READY_SECONDS = 60.0
#: A call that was killed is gone at once; if the server does not say so by then, it is the server that hangs.
HUNG_SECONDS = 5.0
#: So long it may take to end by itself when the device closes: `systemctl stop` waits for it.
CLOSE_SECONDS = 1.0
MAX_DEATHS = 3
MAX_PACKET = 128 * 2**10
SHEBANG = re.compile(r"#!(/\S*python[\d.]*)\s*$|^'''exec' \"?(/[^\"]*?python[\d.]*)\"? ", re.MULTILINE)

log = structlog.get_logger(__name__)

type Stamp = tuple[tuple[str, int], ...]


class CannotServe(Exception):
    """Why there is no fork server; every call is a plain one then."""


class WarmRunning:
    def __init__(self, server: "Server", number: int) -> None:
        self._server, self._number = server, number
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait(self) -> int:
        return await asyncio.shield(self.ended)

    def kill(self) -> None:
        if not self.ended.done():
            self._server.kill(self._number)


class Server:
    """One fork server and the calls it has under way."""

    def __init__(self, process: asyncio.subprocess.Process, link: socket.socket) -> None:
        self._process, self._link = process, link
        self._loop = asyncio.get_running_loop()
        self._calls: dict[int, WarmRunning] = {}
        self._count = 0
        self._is_retired = False
        self.is_alive = True
        self.answers = 0
        #: what it imports from, or None when it has ended before
        self.ready: asyncio.Future[list[str] | None] = self._loop.create_future()
        self._loop.add_reader(link.fileno(), self._hear)

    def start(self, argv: Sequence[str], settings: MngrSettings, fds: tuple[int, int]) -> WarmRunning | None:
        """None where the call does not fit into a packet or the server does not take it."""
        self._count += 1
        request = {"id": self._count, "argv": argv, "cwd": str(settings.cwd), "env": settings.environment()}
        packet = json.dumps(request).encode()
        if len(packet) > MAX_PACKET:
            return None
        try:
            socket.send_fds(self._link, [packet], fds)
        except OSError:
            return None
        running = self._calls[self._count] = WarmRunning(self, self._count)
        return running

    def kill(self, number: int) -> None:
        try:
            self._link.send(json.dumps({"kill": number}).encode())
            self._loop.call_later(HUNG_SECONDS, self._give_up_on, number)
        except OSError:
            self.die()

    def _give_up_on(self, number: int) -> None:
        if number in self._calls:
            self.die()

    def retire(self) -> None:
        """No more calls; ends with the last one."""
        self._is_retired = True
        if not self._calls:
            self.die()

    def die(self) -> None:
        """Its end of the link closes, so it kills what it has under way and ends; those calls count as killed."""
        if not self.is_alive:
            return
        self.is_alive = False
        self._loop.remove_reader(self._link.fileno())
        self._link.close()
        self._loop.call_later(HUNG_SECONDS, PlainRunning(self._process).kill)
        for running in self._calls.values():
            running.ended.set_result(-9)
        self._calls.clear()
        if not self.ready.done():
            self.ready.set_result(None)

    async def close(self) -> None:
        self.die()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), CLOSE_SECONDS)
        await end(PlainRunning(self._process))

    def _hear(self) -> None:
        try:
            packet = self._link.recv(MAX_PACKET)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if not packet:
            self.die()
            return
        told = json.loads(packet)
        if "ready" in told:
            self.ready.set_result([str(path) for path in told["paths"]])
            return
        self.answers += 1
        if running := self._calls.pop(told["id"], None):
            running.ended.set_result(int(told["code"]))
            if self._is_retired and not self._calls:
                self.die()


class WarmTransport:
    def __init__(self, settings: MngrSettings, plain: PlainTransport) -> None:
        self._settings, self._plain = settings, plain
        self._starting = asyncio.Lock()
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
        """A server that is up and knows mngr as it is now, or a reason why not."""
        async with self._starting:
            stamp = self._now()
            if stamp == self._stamp and (self.is_up or self.fallback):
                return
            if self._server is not None:
                self._deaths = 0 if self._server.is_alive or self._server.answers else self._deaths + 1
                self._server.retire()
                self._retired = [s for s in self._retired if s.is_alive] + [self._server]
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
        await asyncio.gather(*(s.close() for s in [*self._retired, *([self._server] if self._server else [])]))

    async def _started(self) -> Server:
        self.interpreter = interpreter_of(resolved(self._settings))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs, contextlib.closing(Tap(2**16)) as stderr:
            try:
                process = await asyncio.create_subprocess_exec(
                    *(self.interpreter, "-P", fork_server.__file__),
                    stdin=theirs.fileno(),
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=stderr.write_end,
                    cwd=self._settings.cwd,
                    env=self._settings.environment(),
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise CannotServe(f"{self.interpreter} can't be run: {error.strerror}") from error
            theirs.close()
            server = Server(process, ours)
            try:
                async with asyncio.timeout(READY_SECONDS):
                    paths = await server.ready
            except BaseException as error:
                await server.close()
                if isinstance(error, TimeoutError):
                    raise CannotServe(f"it was not ready within {READY_SECONDS:g} s") from error
                raise
            if paths is None:
                await server.close()
                raise CannotServe(plain_words(stderr.text().strip().rpartition("\n")[2]) or "it ended without a word")
            self._paths = paths
            return server

    def _now(self) -> Stamp:
        """What a running server has read once and for all."""
        host_dir, cwd = self._settings.host_dir, self._settings.cwd
        config = [host_dir / "config.toml", *sorted(host_dir.glob("profiles/*/settings.toml"))]
        project = [cwd / ".mngr" / name for name in ("settings.toml", "settings.local.toml")]
        command = resolved(self._settings)
        return tuple(
            (str(path), os.stat(path).st_mtime_ns)  # noqa: PTH116
            for path in [command, command.resolve(), *map(Path, self._paths), *config, *project]
            if path.exists()
        )


def interpreter_of(command: Path) -> str:
    """The Python in the command's first line, or after the shell's `exec` where that line would be too long."""
    try:
        with command.open("rb") as file:
            head = file.read(1024).decode("utf-8", "replace")
    except OSError as error:
        raise CannotServe(f"{command} can't be read: {error.strerror}") from error
    found = SHEBANG.search(head) if head.startswith("#!") else None
    if found is None:
        raise CannotServe(f"{command} is no Python script with its interpreter's path in the first line")
    return found[1] or found[2]
