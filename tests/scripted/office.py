"""A small repository in some trouble, an agent to work on it, and a model that has read the play."""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from supervisor.kinds import kind_of
from supervisor.model.profile import Profile
from supervisor.rehearsal import commit_all
from tests.below import end_below
from tests.daemon.sandbox import Sandbox
from tests.scripted.messages import Messages
from tests.scripted.plays import Exchange, Model, Turn, serving

ROOT = Path(__file__).parents[2]
CLAUDE, MNGR = ROOT / ".venv-claude" / "bin" / "claude", ROOT / ".venv-mngr" / "bin" / "mngr"


@dataclass(frozen=True, slots=True)
class Program:
    """A kind of agent, and how it is brought to ask a model of ours."""

    kind: str
    path: Path
    api: type[Exchange]
    #: for the address of the model
    env: Callable[[str], dict[str, str]] = lambda url: {}
    args: Callable[[str], Sequence[str]] = lambda url: ()


def claude_env(url: str) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}


KEY = "sk-nobody-needs-this-one"
CLAUDE_PROGRAM = Program("claude", CLAUDE, Messages, claude_env)

APP = '''\
"""Sums, and what is left of them."""


def add(a: int, b: int) -> int:
    return a - b


def twice(a: int) -> int:
    return 2 * a
'''
TEST = '''\
from app import add, twice


def test_{name}() -> None:
    """{scope}"""
    {check}
'''


@dataclass(frozen=True, slots=True)
class Part:
    """One test of the repository, and what the model does about it after having read the page."""

    name: str
    turns: tuple[Turn, ...]
    #: what is to become of its job
    outcome: str = "clean"
    scope: str = "Twice two is four."
    check: str = "assert twice(2) == 4"

    @property
    def test(self) -> str:
        return f"tests/test_{self.name}.py::test_{self.name}"

    @property
    def file(self) -> str:
        return f"tests/test_{self.name}.py"


def publish(**outcome: Any) -> str:
    """The command that ends a job, with what is said of it."""
    plain = {"schema_version": 1, "changes": {}, "errored": False, "summary_markdown": "Looked at it."}
    plain |= {"tests_passing_before": True, "tests_passing_after": True}
    text = json.dumps(plain | outcome)
    return f"""cat >"$SUPERVISOR_OUTCOME" <<'END' && sh -c "$SUPERVISOR_PUBLISH"\n{text}\nEND"""


def done(kind: str, status: str = "SUCCEEDED") -> dict[str, Any]:
    return {"changes": {kind: {"status": status, "summary_markdown": "As the scope says."}}}


@dataclass
class Office(Sandbox):
    parts: Sequence[Part] = ()
    url: str = ""
    program: Program = CLAUDE_PROGRAM

    def work(self) -> tuple[tuple[str, ...], Profile]:
        profile: dict[str, Any] = {
            "agent": self.program.kind,
            "agent_args": [*kind_of(self.program.kind).args, *self.program.args(self.url)],
            "pytest": [sys.executable, "-m", "pytest", "-q"],
            "verify_runs": 1,
            "integrator": False,
            "keep_agents": "none",
            **self.profile,
        }
        env = {
            **self.program.env(self.url),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **profile.pop("env", {}),
        }
        return tuple(part.test for part in self.parts), msgspec.convert({**profile, "env": env}, Profile)


@asynccontextmanager
async def office(
    folder: Path, parts: Sequence[Part], slots: int = 3, program: Program = CLAUDE_PROGRAM, **profile: Any
) -> AsyncIterator[tuple[Office, Model]]:
    """With mngr and its program side by side, as on a person's PATH; nothing of it is left at the end."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    for each in (program.path, MNGR):
        assert each.exists(), "run `make setup-tests` first"
        (programs / each.name).symlink_to(each.resolve())
    await asyncio.to_thread(lay_out, folder / "repo", parts)
    with serving({part.test: part.turns for part in parts}, program.api) as model:
        mngr = {"command": str(programs / "mngr")}
        made = Office(
            folder,
            slots=slots,
            settings={"mngr": mngr},
            profile=profile,
            parts=parts,
            url=model.url,
            program=program,
        )
        try:
            yield made, model
        finally:
            await asyncio.to_thread(made.tmux.end)
            await asyncio.to_thread(end_below, folder)
            await asyncio.to_thread(shutil.rmtree, folder, True)


def lay_out(repo: Path, parts: Sequence[Part]) -> None:
    (repo / "tests").mkdir(parents=True)
    (repo / "app.py").write_text(APP)
    (repo / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = -p no:cacheprovider\n")
    (repo / ".gitignore").write_text("__pycache__/\n")
    for part in parts:
        text = TEST.format(name=part.name, scope=part.scope, check=part.check)
        (repo / part.file).write_text(text)
    commit_all(repo, "Sums in some trouble")
