"""Turns an order into the arguments of `mngr create` and the files that go with them.

Environment values, the message and file contents are passed in files, never on argv. The agent's state directory is
known only on its own host, so a provision command installs files there: on this machine from where they are, on other
hosts from a directory of this call, to which mngr uploads them. All commands are joined: each costs mngr a shell.
"""

import contextlib
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from supervisor.adapters.mngr.dialects import Dialect
from supervisor.adapters.mngr.envfile import env_file
from supervisor.errors import MngrFailed
from supervisor.ports import AgentAddress, AgentOrder, Place

LOCAL = "local"
#: A new host ends when idle for this long; mngr's default of 800 s would end an agent that waits for a long test.
IDLE_SECONDS = 86_400


@contextlib.contextmanager
def create_argv(order: AgentOrder, dialect: Dialect, scratch: Path) -> Iterator[list[str]]:
    """The arguments; the files that they name exist until the context ends."""
    with private_dir(scratch) as here:
        env = here / "env"
        env.touch(mode=0o600)
        env.write_text(env_file(order.env, order.state_dir_env), encoding="utf-8")
        yield [
            "create",
            target(order.name, order.place),
            *("--id", order.id, "--from", f":{order.source}", "--branch", f"{order.base}:{order.branch}"),
            *("--transfer", order.transfer, "--no-connect", "--yes", "--format", "jsonl"),
            *(_new_host(order) if order.place.new_host else []),
            *repeated("--label", [f"{key}={value}" for key, value in order.labels.items()]),
            *("--env-file", str(env)),
            *_provision(order, here),
            *_message(order, here),
            *repeated("-S", [f"{key}={value}" for key, value in order.settings.items()]),
            *_program(order, dialect),
        ]


@contextlib.contextmanager
def private_dir(scratch: Path) -> Iterator[Path]:
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    here = Path(tempfile.mkdtemp(dir=scratch))
    try:
        yield here
    finally:
        shutil.rmtree(here, ignore_errors=True)


def repeated(option: str, values: list[str] | tuple[str, ...]) -> list[str]:
    return [word for value in values for word in (option, value)]


def target(name: str, place: Place) -> str:
    return name if place.provider == LOCAL else f"{name}@{place.host}.{place.provider}"


def pinned(address: AgentAddress) -> str:
    """The agent's address for mngr. A local agent whose create never answered has no known host id, but is on the one
    local host: without a host, mngr would search every provider, and fail while any other provider is down."""
    if address.provider == LOCAL and not address.host_id:
        return f"{address.agent_id}@localhost.{LOCAL}"
    return str(address)


def _new_host(order: AgentOrder) -> list[str]:
    return ["--new-host", "--idle-timeout", str(IDLE_SECONDS), *repeated("--build-arg", order.build_args)]


def _provision(order: AgentOrder, here: Path) -> list[str]:
    """Commands run in order and each must succeed; those that install the files come first."""
    staged = None if order.place.provider == LOCAL else Path("/tmp") / f"supervisor-{order.id}"
    uploads, commands = [], []
    for number, (path, local) in enumerate(order.files.items()):
        mode = "755" if local.stat().st_mode & 0o100 else "644"
        there = shlex.quote(str(local.absolute())) if staged is None else f"{staged}/{number}"
        commands.append(f'install -D -m {mode} {there} "$MNGR_AGENT_STATE_DIR"/{_inside(path)}')
        if staged is not None:
            link = here / str(number)  # `--upload-file LOCAL:REMOTE` splits at the first colon
            link.symlink_to(local.absolute())
            uploads.append(f"{link}:{staged}/{number}")
    if staged is not None and uploads:
        commands.append(f"rm -rf {staged}")
    commands += order.provision
    if not commands:
        return []
    script = "\n".join(f"{{ {command}\n}} || exit 1" for command in commands)
    return [*repeated("--upload-file", uploads), "--extra-provision-command", script]


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or path.startswith("/"):
        raise MngrFailed(f"{path!r} is no path below an agent's state directory.", reason="refused")
    return shlex.quote(path)


def _message(order: AgentOrder, here: Path) -> list[str]:
    if not order.message:
        return []
    (here / "message").write_text(order.message, encoding="utf-8")
    return ["--message-file", str(here / "message")]


def _program(order: AgentOrder, dialect: Dialect) -> list[str]:
    if order.type == "command" and not dialect.has_command_type:
        return ["--command", shlex.join(order.args)]
    return ["--type", order.type, *(["--", *order.args] if order.args else [])]
