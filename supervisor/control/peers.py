"""Identifies the user at the other end of the socket by the kernel's peer credentials."""

import asyncio
import pwd
import socket
import struct

from fastapi import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


class PeerProtocol(H11Protocol):
    """HTTP over a Unix socket, where the client's address is the user it runs as."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        peer = transport.get_extra_info("socket")
        if peer is not None and peer.family == socket.AF_UNIX:
            size = _CREDENTIALS.size
            pid, uid, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
            self.client = (str(uid), pid)


def author(request: Request) -> str:
    """The user name of the client, or its uid if it has no name."""
    uid = request.client.host if request.client else ""
    try:
        return pwd.getpwuid(int(uid)).pw_name
    except (KeyError, ValueError):
        return uid
