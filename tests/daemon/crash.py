"""What crash tests share: a box to run and kill, and what must hold however often it was."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.private_tmux import PrivateTmux
from supervisor.adapters.sqlite.journal import open_journal
from supervisor.model.event import AgentReleased, Event, JobEnded, LaunchStarted
from supervisor.rehearsal.generate import generate
from tests.below import end_below
from tests.daemon.box import Order, agents_in_mngr
from tests.lives import lives
from tests.zygote import programs

ROOT = Path(__file__).parents[2]
STUB = ROOT / "tests" / "stubs" / "mngr"
AGENT = Path(__file__).with_name("agent")
PATIENCE_SECONDS = 180.0


@dataclass
class CrashBox:
    """A state directory that outlives its daemons."""

    folder: Path
    jobs: int
    mngr: Path = STUB
    profile: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    slots: int = 2
    #: more tables of the configuration
    more: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        generate(self.folder / "repo", self.jobs)
        self.lives.touch()

    @property
    def lives(self) -> Path:
        return self.folder / "lives"

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    @property
    def order(self) -> Order:
        tests = [f"tests/test_from_{n // 25 * 25:05}.py::test_{n:05}" for n in range(self.jobs)]
        env = {"LIVES": str(self.lives), **self.profile.get("env", {})}
        profile: dict[str, Any] = {
            "agent": "command",
            "command": [str(AGENT)],
            "pytest": ["true"],
            "keep_agents": "none",
        }
        profile |= {"verify_runs": 0, "integrator": False}  # `true` proves nothing
        return Order(
            state_dir=str(self.state_dir),
            repo=str(self.folder / "repo"),
            tests=tests,
            profile={**profile, **self.profile, "env": env},
            mngr={"command": str(self.mngr), "warm": False, **self.settings},
            slots=self.slots,
            more=self.more,
        )

    def goes_wrong(self, *rules: dict[str, Any]) -> None:
        """Rules of the stub: see its head."""
        folder = self.state_dir / "home" / ".mngr" / "stub"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "faults.json").write_text(json.dumps(rules))

    def start(
        self,
        *,
        die_at: int = 0,
        die_before: bool = False,
        log: IO[str] | None = None,
        prefix: Sequence[str] | None = None,
    ) -> subprocess.Popen[str]:
        """What it prints goes to `log`, if there is one. With a `prefix`, even (), it is the real program."""
        order = replace(self.order, die_at=die_at, die_before=die_before)
        path = order.write(self.folder / "order.json")
        forked, real = [str(programs() / "box")], [sys.executable, "-m", "tests.daemon.box"]
        return subprocess.Popen(
            [*(forked if prefix is None else [*prefix, *real]), str(path)],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
            stdout=log or subprocess.PIPE,
            stderr=log,
            text=True,
        )

    def run(self, *, die_at: int = 0, die_before: bool = False) -> list[str]:
        """Until it is done or dead: the events that it wrote, a line for each append."""
        with self.start(die_at=die_at, die_before=die_before) as process:
            try:
                out, _ = process.communicate(timeout=PATIENCE_SECONDS)
            finally:
                process.kill()
        expected = (-9,) if die_at else (0,)
        assert process.returncode in (0, *expected), f"the daemon ended with {process.returncode}"
        return out.splitlines()

    def launches(self) -> int:
        return sum(isinstance(event, LaunchStarted) for event in self.events())

    # --- what must hold

    def events(self) -> list[Event]:
        journal = open_journal(self.state_dir / "journal.sqlite3")

        async def read() -> list[Event]:
            try:
                return [record.event for record in await journal.read(limit=1_000_000)]
            finally:
                await journal.close()

        return asyncio.run(read())

    def check(self) -> Counter[str]:
        """No job lost, none doubled, no agent orphaned: one whose work could not be saved is named as kept. What each
        came to."""
        events = self.events()
        ended = Counter(event.job for event in events if isinstance(event, JobEnded))
        assert ended == Counter(range(1, self.jobs + 1)), f"not every job ended once: {ended}"
        launched = Counter(event.agent_id for event in events if isinstance(event, LaunchStarted))
        assert set(launched.values()) == {1}, "an agent id was used twice"
        known = lives(self.lives)
        assert not [life for life in known if life.what == "double"], "one job had two agents"
        starts = Counter((life.job, life.attempt) for life in known)
        assert all(count == 1 for count in starts.values()), f"an attempt ran twice: {starts}"
        alive = [life for life in known if life.is_alive()]
        assert not alive, f"agents were left alive: {alive}"
        kept = (event for event in events if isinstance(event, AgentReleased) and event.kept)
        named = {id_ for event in kept for id_ in ids_of(event, events)}
        left = [path for path in agents_in_mngr(self.state_dir) if path.parent.name not in named]
        assert not left, f"agents were left in mngr: {left}"
        self._check_refs()
        return Counter(event.outcome for event in events if isinstance(event, JobEnded))

    def _check_refs(self) -> None:
        """Whatever an agent committed is under a ref of its own."""
        bare = GitStore(self.state_dir).bare(self.folder / "repo")
        refs = subprocess.run(
            ["git", "-C", str(bare), "for-each-ref", "--format=%(refname)", "refs/supervisor/batch/"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        jobs = {ref.split("/")[3] for ref in refs if not ref.endswith("/base")}
        ended = {str(e.job) for e in self.events() if isinstance(e, JobEnded) and e.outcome == "improved"}
        assert ended <= jobs, f"work of jobs {ended - jobs} is under no ref"

    def clean_up(self) -> None:
        PrivateTmux.below(self.state_dir / "tmux").end()
        end_below(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)


def ids_of(released: AgentReleased, events: Sequence[Event]) -> Iterator[str]:
    key = (released.batch, released.job, released.attempt)
    launches = (event for event in events if isinstance(event, LaunchStarted))
    return (event.agent_id for event in launches if (event.batch, event.job, event.attempt) == key)
