"""The process: one gate for a state directory, until a signal stops it.

A socket that systemd passes is used as it is: while the gate restarts, agents' connections wait in its backlog.
"""

import ctypes
import fcntl
import gc
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
import uvicorn
from anyio import CancelScope, Event, create_task_group, open_signal_receiver, sleep

from supervisor.answering import Server
from supervisor.errors import Locked, Misconfigured
from supervisor.gate.accounts import Account
from supervisor.gate.admission import Admission
from supervisor.gate.app import Gate
from supervisor.gate.connections import connections
from supervisor.gate.counts import Counts
from supervisor.gate.doors import Doors
from supervisor.gate.exchange import QUIET_SECONDS, Desk
from supervisor.gate.keys import Keys
from supervisor.gate.refusals import HEAD_BYTES
from supervisor.gate.sharing import LOCK, SYNC_SECONDS, folder_of, synced
from supervisor.gate.windows import Windows
from supervisor.gate.wire import Wire
from supervisor.systemd import passed_socket, tell
from supervisor.tasks import beside
from supervisor.threads import in_thread

log = structlog.get_logger()

BACKLOG = 1024
#: more connections than this are answered with 503
MOST_CONNECTIONS = 4096
#: how long responses under way may still take when the gate stops
FAREWELL_SECONDS = 20
IDLE_SECONDS = 60
_PR_SET_DUMPABLE = 4


@dataclass(frozen=True, slots=True)
class Terms:
    """The configuration that a gate gets at its start."""

    state_dir: Path
    #: address and port
    host: str
    port: int
    accounts: tuple[Account, ...]
    hold_seconds: float
    #: how long a stream on hold gets no keep-alive
    quiet_seconds: float = QUIET_SECONDS


async def run(terms: Terms) -> None:
    """Serve until a signal. After the first signal, responses under way may still end, for a while; a second one cuts
    them off."""
    keep_to_itself()
    with open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with opened(terms) as server:
            gc.freeze()  # these objects stay; collecting them again takes 20 ms, during which all requests wait
            async for _ in signals:
                break
            tell("STOPPING=1", os.environ.get("NOTIFY_SOCKET", ""))
            server.end()
            async with beside() as tasks:
                tasks.start_soon(_hurry, server, signals)
                await server.is_over.wait()


async def _hurry(server: "GateServer", signals: AsyncIterator[signal.Signals]) -> None:
    async for _ in signals:
        server.hurry()


@asynccontextmanager
async def opened(terms: Terms) -> AsyncIterator["GateServer"]:
    """A gate that serves within the block. Raises Locked, Misconfigured, Unreadable."""
    folder = folder_of(terms.state_dir)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        _alone(folder),
        _listening(terms) as listener,
        closing(Counts(folder)) as counts,
        closing(Keys(folder)) as keys,
    ):
        _check_keys(terms.accounts)
        counts.forget_all_but(*keys.known())
        if left := counts.take_over():
            log.warning("requests were under way when the last gate ended: what they took is unknown", number=left)
        async with connections() as providers, beside() as tasks:
            tasks.start_soon(_sync, counts.path)
            windows = Windows(counts)
            admission, doors = Admission(keys, counts), Doors(counts)
            desk = Desk(admission, counts, doors, windows, terms.hold_seconds, terms.quiet_seconds)
            server = GateServer(_configuration(Gate(desk, keys, terms.accounts, _hosts(listener), providers)))
            async with create_task_group() as serving:
                serving.start_soon(server.answer, listener)
                await server.is_ready.wait()
                try:
                    yield server
                finally:
                    server.end()


class GateServer(Server):
    def __init__(self, configuration: uvicorn.Config) -> None:
        super().__init__(configuration)
        self.is_ready, self.is_over = Event(), Event()
        self.port = 0

    async def answer(self, listener: socket.socket) -> None:
        """Serve. Cancellation does not interrupt the graceful shutdown."""
        with CancelScope(shield=True):
            try:
                await self.serve([listener])
            finally:
                self.is_ready.set()
                self.is_over.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, self.port = (sockets or [])[0].getsockname()[:2]
        log.info("the gate is open", address=f"{host}:{self.port}")
        tell("READY=1", os.environ.get("NOTIFY_SOCKET", ""))
        self.is_ready.set()


def _configuration(gate: Gate) -> uvicorn.Config:
    return uvicorn.Config(
        gate,
        http=Wire,
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=FAREWELL_SECONDS,
    )


async def _sync(path: Path) -> None:
    while True:
        await sleep(SYNC_SECONDS)
        await in_thread(synced, path)


def _check_keys(accounts: Iterable[Account]) -> None:
    """Log keys that are missing; each request looks for its key again."""
    for account in accounts:
        try:
            account.secret()
        except Misconfigured as error:
            log.error("a key can't be used", account=account.name, why=error.message, hint=error.hint)


def keep_to_itself() -> None:
    """Agents run as the same user: keep them from reading this process's memory and environment."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "one gate per state directory: stop that one first"
            raise Locked(f"another gate has {folder}", hint=hint) from None
        yield


def _hosts(listener: socket.socket) -> frozenset[str]:
    """The names by which agents may address the gate; any other name may come from an attacker's DNS."""
    address, port = listener.getsockname()[:2]
    literal = f"[{address}]" if ":" in address else address
    names = {literal, "localhost", "127.0.0.1"} if address != "::1" else {literal, "localhost"}
    return frozenset(f"{name}:{port}" for name in names)


@contextmanager
def _listening(terms: Terms) -> Iterator[socket.socket]:
    with passed_socket() or _bound(terms.host, terms.port) as listener:
        yield listener


def _bound(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        raise Misconfigured(f"the gate can't listen on {host}:{port}: {why}", hint="set `listen` in [gate]") from None
    return listener
