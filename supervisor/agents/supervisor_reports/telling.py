"""The reporter's connection to the daemon: found once, in the environment, and authenticated by a nonce."""

from __future__ import annotations

import os
import socket
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

ENVIRONMENT = "SUPERVISOR_REPORTS"
_LONG, _MANY = 2000, 200


def _text(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, dict):
        return "{" + ",".join([_quoted(name) + ":" + _text(each) for name, each in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([_text(each) for each in value[:_MANY]]) + "]"
    return _quoted(safe(value)[:_LONG])


def safe(value: Any) -> Any:
    try:
        return value if type(value) is str else str(value)
    except BaseException:  # an object of the tests may raise anything from `__str__`
        return "?"


def leave(folder: str, name: str) -> None:
    """Remove this plugin from the environment: processes that tests start neither see nor need it."""
    for variable, separator, own in (("PYTHONPATH", os.pathsep, folder), ("PYTEST_PLUGINS", ",", name)):
        rest = [each for each in os.environ.get(variable, "").split(separator) if each and each != own]
        if rest:
            os.environ[variable] = separator.join(rest)
        else:
            os.environ.pop(variable, None)


def connected() -> Any:
    """A function that sends a record; None if nobody listens."""
    name = os.environ.pop(ENVIRONMENT, "")
    if not name or not hasattr(socket, "AF_UNIX") or not hasattr(socket, "SOCK_SEQPACKET"):
        return None
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        line.settimeout(30)
        line.connect("\0" + name)
        nonce = line.recv(100).decode()
        line.settimeout(None)
    except OSError:
        line.close()
        return None
    return _sender(line, nonce, os.getpid, os.getpid())


def _sender(line: Any, nonce: Any, process: Any, own: Any) -> Any:
    """The function that sends; a record None closes the connection. In a fork of this process it returns False, and
    None closes only the fork's end."""
    send, hang_up, text = line.send, line.close, _text

    def tell(record: Any) -> Any:
        if process() != own:
            if record is None:
                hang_up()
            return False
        try:
            if record is None:
                hang_up()
            else:
                send(text(dict(record, nonce=nonce)).encode())
        except OSError:
            pass
        return True

    return tell
