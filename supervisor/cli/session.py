"""What all verbs share: the daemon's socket, output as text or JSON, and the format of errors."""

import json
import os
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from supervisor import paths
from supervisor.control.client import Client, quoted
from supervisor.errors import NoSuchThing, SupervisorError


@dataclass(slots=True)
class Session:
    json: bool = False
    socket: Path | None = None

    @property
    def client(self) -> Client:
        return Client(self.socket or socket_path())

    def show(self, data: dict[str, Any], text: str) -> None:
        print(json.dumps(data) if self.json else text)

    def note(self, text: str) -> None:
        """Print to stderr for people; nothing with --json."""
        if not self.json:
            print(text, file=sys.stderr)

    def fail(self, error: SupervisorError) -> None:
        if self.json:
            print(json.dumps({"error": {"code": error.code, "message": error.message, "hint": error.hint}}))
            return
        print(f"error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)


def of(ctx: typer.Context) -> Session:
    session: Session = ctx.obj
    return session


def socket_path() -> Path:
    """In order: the environment, the configuration file, the user's default; then the system's, if it exists."""
    if said := os.environ.get("SUPERVISOR_SOCKET"):
        return Path(said)
    try:
        configured = tomllib.loads(paths.config_file().read_text()).get("socket")
    except (OSError, ValueError):
        configured = None  # `config check` reports what is wrong with it
    if isinstance(configured, str):
        return Path(configured).expanduser()
    own = paths.socket()
    return paths.SYSTEM_SOCKET if not own.exists() and paths.SYSTEM_SOCKET.exists() else own


def batch_or_latest(client: Client, said: str | None) -> str:
    """The full id of the batch that `said` names; without it, of the batch submitted last."""
    if said:
        return str(client.get(f"/v1/batches/{quoted(said)}")["batch"]["id"])
    rows = client.get("/v1/batches", limit=1)["rows"]
    if not rows:
        raise NoSuchThing("there is no batch yet", hint="`supervisorctl submit tests/e2e` makes one")
    return str(rows[0]["id"])
