"""A remote pool without a network: verifiers are agents in memory, and what they are told is done in folders here."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from immutables import Map

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.memory import MemoryAgents
from supervisor.model.batch import Batch
from supervisor.model.pool import Pool
from supervisor.model.state import State
from supervisor.ports import AgentAddress, AgentOrder, ExecResult, Listing, SeenAgent
from supervisor.verification.remote.trials import RemoteTrials
from supervisor.verification.remote.verifiers import Verifiers
from tests.agent_clone import git

PROVIDER = "pool"
POOL = Pool("far", PROVIDER, 4, hosts=("left", "right"))

#: what becomes of an answer that was printed
type Tampering = Callable[[str], ExecResult]


class FarAgents(MemoryAgents):
    """Each verifier has a clone, as mngr makes it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "far", providers=[PROVIDER], shell=self._run)
        self._clones = folder / "clones"
        #: for the next questions, in order; afterwards answers arrive as they are
        self.tampering: list[Tampering] = []
        #: so many questions about trials were answered
        self.asked = 0
        self._greeted: set[str] = set()
        #: where programs are looked for there
        self.path = os.environ["PATH"]
        #: of a provider that is down: it is back after so many listings
        self.looks_until_back = 0

    async def list(self, provider: str) -> Listing:
        found = await super().list(provider)
        self.looks_until_back -= 1
        if self.looks_until_back < 0:
            self.set_down(provider, is_down=False)
        return found

    async def create(self, order: AgentOrder) -> AgentAddress:
        self._clones.mkdir(exist_ok=True)
        git(self._clones, "clone", "-q", "--no-local", str(order.source), order.id)
        return await super().create(order)

    def _run(self, agent: SeenAgent, command: str) -> ExecResult:
        own = agent.address.agent_id
        places = {"MNGR_AGENT_STATE_DIR": self.state_dir(own), "MNGR_AGENT_WORK_DIR": self._clones / own}
        env = {**os.environ, "PATH": self.path, **{name: str(place) for name, place in places.items()}}
        done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, check=False)
        is_question = "verifier.pyz" in command and own in self._greeted
        self._greeted |= {own} if "verifier.pyz" in command else set()
        if is_question:
            self.asked += 1
            if self.tampering:
                return self.tampering.pop(0)(done.stdout)
        return ExecResult(done.stdout, done.stderr, success=done.returncode == 0)


@dataclass
class Faraway:
    folder: Path
    store: GitStore
    #: open ones
    batches: tuple[Batch, ...] = ()
    agents: FarAgents = field(init=False)
    verifiers: Verifiers = field(init=False)

    def __post_init__(self) -> None:
        self.agents = FarAgents(self.folder)
        self.verifiers = Verifiers(self.agents, self.store, self.folder / "state", "c0ffee")
        batches = Map({batch.id: batch for batch in self.batches})
        self.verifiers.state = lambda: State("c0ffee", pools=Map({POOL.name: POOL}), batches=batches)

    @property
    def trials(self) -> RemoteTrials:
        return RemoteTrials(self.store, self.folder / "state", self.verifiers, POOL.name)
