"""An agent of kind `command` that attacks, inside of walls or without: a Python program, as its clone's own daemon
starts it on the real mngr."""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from supervisor.walled.orders import agent_walls_lack
from tests.daemon.sandbox import Running, Sandbox, box, running
from tests.waiting import until

HEAD = """\
import array, ctypes, fcntl, json, os, pathlib, signal, socket, subprocess, sys, termios, time
found = {}
state, clone = pathlib.Path(os.environ["MNGR_AGENT_STATE_DIR"]), pathlib.Path(os.environ["MNGR_AGENT_WORK_DIR"])
notes = pathlib.Path(os.environ["NOTES"])


def tried(name, deed):
    try:
        said = deed()
        found[name] = said if isinstance(said, str) else ""
    except Exception as error:
        found[name] = type(error).__name__


def tell(name="found"):
    draft = notes / f".{name}.{time.monotonic_ns()}"  # a signal may come in between, and tell as well
    draft.write_text(json.dumps(found))
    draft.rename(notes / name)


"""
#: what ends a job
PUBLISH = """
outcome = {"schema_version": 1, "changes": {}, "errored": False, "blocked": None, "summary_markdown": "attacked"}
outcome |= {"tests_passing_before": True, "tests_passing_after": True}
pathlib.Path(os.environ["SUPERVISOR_OUTCOME"]).write_text(json.dumps(outcome))
subprocess.run(["sh", "-c", os.environ["SUPERVISOR_PUBLISH"]])
"""


@dataclass
class Scene:
    """A build box, and what its agent has told."""

    box: Sandbox

    @property
    def notes(self) -> Path:
        return self.box.folder / "notes"

    async def told(self, name: str = "found") -> dict[str, str]:
        await until(f"the agent has told {name}", (self.notes / name).exists, 60)
        return dict(json.loads((self.notes / name).read_text()))


def lay_out(folder: Path, body: str) -> tuple[Path, Path]:
    folder.chmod(0o755)
    notes, programs = folder / "notes", folder / "programs"
    for each in (notes, programs):
        each.mkdir()
        each.chmod(0o777)
    (programs / "agent.py").write_text(HEAD + body)
    return notes, programs / "agent.py"


@asynccontextmanager
async def scene(folder: Path, body: str, *, agent_walls: str = "require", **profile: Any) -> AsyncIterator[Scene]:
    """Its one agent runs this text; `notes` is where it may leave word."""
    if lacks := await agent_walls_lack():
        pytest.skip(f"no walls can be built here: {lacks}")
    notes, program = lay_out(folder, body)
    env = {"NOTES": str(notes), **profile.pop("env", {})}
    settings = {"mngr": {"list_seconds": 2}, **profile.pop("settings", {})}
    wanted = {
        "command": [sys.executable, "-u", str(program)],
        "agent_walls": agent_walls,
        "sandbox_write": [str(notes)],
        "retries": 0,
        **profile,
        "env": env,
    }
    async with box(folder, jobs=1, slots=1, profile=wanted, settings=settings) as made:
        try:
            yield Scene(made)
        finally:
            await asyncio.to_thread(shutil.rmtree, notes, True)


@asynccontextmanager
async def attacking(folder: Path, body: str, **profile: Any) -> AsyncIterator[tuple[Scene, Running]]:
    async with scene(folder, body, **profile) as made, running(made.box) as here:
        await here.submit()
        yield made, here


async def found_by(folder: Path, body: str, **profile: Any) -> dict[str, str]:
    """What an attack came to, by name: what it got, or the error that it met; and the job was published all the
    same."""
    async with attacking(folder, f"{body}\ntell()\n{PUBLISH}", **profile) as (made, here):
        found = await made.told()
        await here.finished()
        return found
