"""Tells systemd about a service, and takes the socket that it passes on. Without systemd, does nothing."""

import os
import socket
from contextlib import suppress

_FIRST_PASSED_FD = 3


class Systemd:
    def __init__(self) -> None:
        # Removed from the environment: what the daemon starts must not notify in its name.
        self._address = os.environ.pop("NOTIFY_SOCKET", "")
        microseconds = os.environ.pop("WATCHDOG_USEC", "")
        mine = os.environ.pop("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        #: whether this process is a service's own: a stop ends all that is in its control group
        self.is_service = os.environ.get("SYSTEMD_EXEC_PID") == str(os.getpid())
        #: how long the watchdog waits for a sign; 0: there is none
        self.watchdog_seconds = int(microseconds) / 1e6 if microseconds.isdigit() and mine else 0.0

    def ready(self, status: str) -> None:
        self._tell(f"READY=1\nSTATUS={status}")

    def status(self, status: str) -> None:
        self._tell(f"STATUS={status}")

    def alive(self) -> None:
        self._tell("WATCHDOG=1")

    def stopping(self) -> None:
        self._tell("STOPPING=1\nSTATUS=detaching: agents live on")

    def _tell(self, message: str) -> None:
        tell(message, self._address)


def tell(message: str, address: str) -> None:
    """Send a message to `address`, a value of NOTIFY_SOCKET; "": there is no systemd."""
    if not address:
        return
    address = "\0" + address[1:] if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
        out.settimeout(1)
        out.sendto(message.encode(), address)


def passed_socket() -> socket.socket | None:
    """The socket to listen on, if the unit has one. Programs that the daemon starts must not take it for theirs."""
    mine = os.environ.pop("LISTEN_PID", "") == str(os.getpid())
    count = os.environ.pop("LISTEN_FDS", "0")
    os.environ.pop("LISTEN_FDNAMES", None)
    if not mine or count == "0":
        return None
    os.set_inheritable(_FIRST_PASSED_FD, False)
    return socket.socket(fileno=_FIRST_PASSED_FD)
