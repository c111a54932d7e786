"""Finds a local agent's clone from the state that mngr keeps of it, to which the agent itself can write."""

import re
from pathlib import Path

import msgspec

MOST_BYTES = 2**20

_LINE = re.compile(rb"^(?:export )?MNGR_AGENT_WORK_DIR=[\"']?([^\"'\n]+)", re.MULTILINE)


class _Data(msgspec.Struct):
    work_dir: str


def work_dir_in(state_dir: Path) -> Path | None:
    """From mngr's own record; if that is damaged, from the environment that the agent was given."""
    if (data := _head(state_dir / "data.json")) is not None:
        try:
            return _absolute(msgspec.json.decode(data, type=_Data).work_dir)
        except msgspec.MsgspecError:
            pass
    if (env := _head(state_dir / "env")) is not None and (found := _LINE.search(env)) is not None:
        return _absolute(found[1].decode(errors="surrogateescape"))
    return None


def _absolute(said: str) -> Path | None:
    return Path(said) if said.startswith("/") and "\0" not in said else None


def _head(path: Path) -> bytes | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return None
