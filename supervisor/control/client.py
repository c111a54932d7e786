"""The command line's client of the API: small and quick to import."""

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from supervisor.errors import SupervisorError, Unreachable

TIMEOUT_SECONDS = 60.0


class Answered(SupervisorError):
    """The daemon's refusal: its message, code and exit code."""

    def __init__(self, message: str, *, hint: str, code: str, exit_code: int) -> None:
        super().__init__(message, hint=hint)
        self.exit_code, self._code = exit_code, code

    @property
    def code(self) -> str:
        return self._code


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("daemon", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(str(self._path))
        except OSError:
            self.sock.close()
            raise


class Client:
    def __init__(self, path: Path, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self.path, self._timeout = path, timeout

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        given = {key: value for key, value in query.items() if value not in (None, "")}
        return self._call("GET", f"{path}?{urlencode(given)}" if given else path)

    def text(self, path: str) -> str:
        """The answer of a route that gives no JSON."""
        with _Call(self.path, self._timeout) as call:
            return call.send("GET", path, None).read().decode()

    def post(
        self, path: str, body: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        return self._call("POST", path, body, timeout)

    def put(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._call("PUT", path, body)

    def events(self, after: int | None, *, batch: str = "", timeout: float | None = None) -> Iterator[dict[str, Any]]:
        """Events as they happen; an empty one as a keep-alive. Ends when the daemon stops."""
        query = {"batch": batch} if batch else {}
        query |= {} if after is None else {"after": str(after)}
        with _Call(self.path, timeout or TIMEOUT_SECONDS) as call:
            response = call.send("GET", f"/v1/events/stream?{urlencode(query)}")
            for line in response:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
                elif line.startswith(b":"):
                    yield {}

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, timeout: float | None = None
    ) -> dict[str, Any]:
        with _Call(self.path, timeout or self._timeout) as call:
            response = call.send(method, path, None if body is None else json.dumps(body).encode())
            answer: dict[str, Any] = json.loads(response.read())
            return answer


class _Call:
    """One request. A transport error is raised as Unreachable."""

    def __init__(self, path: Path, timeout: float) -> None:
        self._path, self._timeout = path, timeout
        self._connection = _Connection(path, timeout)

    def send(self, method: str, path: str, body: bytes | None = None) -> http.client.HTTPResponse:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        if response.status >= 400:
            raise _said(response.read())
        return response

    def __enter__(self) -> "_Call":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._connection.close()
        if isinstance(error, OSError | http.client.HTTPException | ValueError):
            raise self._unreachable(error) from None

    def _unreachable(self, error: BaseException) -> Unreachable:
        """Cases: no socket; a socket without a daemon; no permission; a timeout; not our daemon; anything else."""
        start = "start it with `supervisord`, or give its socket with --socket"
        match error:
            case FileNotFoundError() | NotADirectoryError():
                return Unreachable(f"no daemon listens on {self._path}", hint=start)
            case ConnectionRefusedError():
                return Unreachable(f"the daemon of {self._path} is not running", hint=start)
            case PermissionError():
                hint = "join the socket's group, or run this as the daemon's user"
                return Unreachable(f"no permission to use {self._path}", hint=hint)
            case TimeoutError():
                hint = "see its log; the request may still take effect"
                return Unreachable(f"the daemon did not answer within {self._timeout:g} seconds", hint=hint)
            case ConnectionError() | http.client.RemoteDisconnected() | http.client.IncompleteRead():
                return Unreachable("the daemon stopped before it answered", hint="try again when it is back")
            case http.client.HTTPException() | json.JSONDecodeError():
                return Unreachable(f"{self._path} is not the socket of an agent-supervisor daemon", hint=start)
            case _:
                return Unreachable(f"can't reach the daemon on {self._path}: {error}", hint=start)


def _said(text: bytes) -> Answered:
    error = json.loads(text)["error"]
    return Answered(error["message"], hint=error["hint"], code=error["code"], exit_code=error.get("exit_code", 1))


def quoted(part: str) -> str:
    """Escape a value for a path of the API."""
    return quote(part, safe="")
