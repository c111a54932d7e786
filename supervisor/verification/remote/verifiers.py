"""Verifying agents: made by mngr in a remote pool, asked, and put away again.

Each batch has one verifier in each pool, with its own name and id and the label of this installation; it takes no
agent slot. It sleeps; each question is one `mngr exec`. It is kept while questions come, and put away when none has
come for a while. One that vanished, hung or gave an answer that can't be believed is put away, and the question goes
to a new one.

After a crash of the daemon, the next daemon puts its verifiers away (`daemon/strays`). Nothing that they knew is
needed: a claim without a verdict is verified again from the start, and each daemon lists every provider before it
makes a verifier. So at most one round of verifiers is ever left behind.
"""

import itertools
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from anyio import CancelScope, Lock, current_time, sleep

from supervisor.adapters.git.checkouts import discard
from supervisor.adapters.git.store import GitStore
from supervisor.errors import DeviceFailed, MngrFailed
from supervisor.model.batch import Batch
from supervisor.model.pool import Pool
from supervisor.model.state import State
from supervisor.ports import INSTALLATION, VERIFIER, AgentAddress, AgentOrder, Agents, Place
from supervisor.threads import in_thread
from supervisor.verification.remote.exchange import (
    MAX_QUESTION,
    PIECE,
    Answer,
    Disbelieved,
    Hello,
    answered,
    asked,
)
from supervisor.verification.remote.packing import PROGRAM, write_program
from supervisor.verification.trials.likeness import PASSED_ON_HOSTS

#: a verifier that gets no question for this long is put away
IDLE_SECONDS = 120.0
TENDING_SECONDS = 5.0
HELLO_SECONDS = 120.0
#: a verifier ends by itself after this long, in case no daemon is left to end it
LIFE_SECONDS = 86_400
LONGEST_WAIT_SECONDS = 30.0
#: reasons why a host can't be made or reached that are nobody's fault, and are waited out
OUTAGES = frozenset({"provider", "rate", "timeout", "killed"})


class Outage(DeviceFailed):
    """The provider makes nothing now."""


log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class Verifier:
    address: AgentAddress
    hello: Hello
    #: the commits that it has
    has: set[str] = field(default_factory=set)
    #: trials that are over: what is left of them is deleted with the next question
    done: set[str] = field(default_factory=set)
    users: int = 0
    idle_since: float = 0.0


class Verifiers:
    def __init__(
        self,
        agents: Agents,
        store: GitStore,
        state_dir: Path,
        installation: str,
    ) -> None:
        self._agents, self._store, self._installation = agents, store, installation
        self._folder = state_dir.absolute() / "verifiers"
        #: the state of the daemon that they verify for
        self.state: Callable[[], State] = lambda: State(installation)
        self._known: dict[tuple[str, str], Verifier] = {}
        self._making: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)
        self._turns = itertools.count()
        #: ids of our verifiers that are still wanted
        self.live: set[str] = set()
        self._leaving: dict[str, tuple[AgentAddress, Verifier | None]] = {}
        self._is_hindered = False
        #: pools in which no verifier can be made or reached now, and why
        self.problems: dict[str, str] = {}

    @asynccontextmanager
    async def lent(self, batch: Batch, pool: str) -> AsyncIterator[Verifier]:
        """The batch's verifier in the pool; made if there is none. Raises DeviceFailed; if the caller's use of the
        verifier does, the verifier is given up."""
        key = (batch.id, pool)
        async with self._making[key]:
            verifier = self._known.get(key) or await self._made(batch, self._pool(pool))
            self._known[key] = verifier
            verifier.users += 1
        try:
            yield verifier
        except DeviceFailed:
            self.give_up(verifier)
            raise
        finally:
            verifier.users -= 1
            verifier.idle_since = current_time()

    def _pool(self, name: str) -> Pool:
        if (pool := self.state().pools.get(name)) is None:
            raise Disbelieved(f"the pool {name} is not configured any more")
        return pool

    async def ask[T: (Answer, Hello)](
        self, address: AgentAddress, question: Mapping[str, Any], kind: type[T], seconds: float
    ) -> T:
        nonce = secrets.token_hex(16)
        pieces = list(asked({**question, "nonce": nonce}))
        if len(pieces) * PIECE > MAX_QUESTION:
            raise Disbelieved("what it has to be sent is too large")
        file = f'"$MNGR_AGENT_STATE_DIR"/question-{nonce[:16]}'
        writing = [f"umask 077; cat >> {file} <<'END'\n{piece}\nEND" for piece in pieces]
        for each in writing[:-1]:
            await self._agents.exec(address, each)
        command = f'{writing[-1]}\nexec python3 -I "$MNGR_AGENT_STATE_DIR"/{PROGRAM} {file}'
        said = await self._agents.exec(address, command, timeout=seconds, is_long=True)
        if not said.success:
            last = " ".join(said.stderr.strip().splitlines()[-1:])[:200]
            raise Disbelieved(f"its program failed: {last or 'without a word'}")
        return answered(said.stdout, kind, nonce)

    # --- making

    async def _made(self, batch: Batch, pool: Pool) -> Verifier:
        order = await self._order(batch, pool)
        address = AgentAddress(order.id, order.place.host, pool.provider)
        self.live.add(order.id)
        try:
            address = await self._created(order)
            hello = await self.ask(address, {"passed_on": PASSED_ON_HOSTS}, Hello, HELLO_SECONDS)
            if not hello.root.startswith("/"):
                raise Disbelieved("it does not say where it is")
        except BaseException:
            self._leaving[order.id] = address, None
            self.live.discard(order.id)
            raise
        finally:
            with CancelScope(shield=True):
                await discard(order.source)
        log.info("made a verifier", batch=batch.id, pool=pool.name, agent=order.name)
        return Verifier(address, hello, {batch.base})

    async def _created(self, order: AgentOrder) -> AgentAddress:
        try:
            return await self._agents.create(order)
        except MngrFailed as failed:
            if failed.reason in OUTAGES:
                raise Outage(failed.message) from failed
            raise

    async def _order(self, batch: Batch, pool: Pool) -> AgentOrder:
        word = secrets.token_hex(4)
        program = await in_thread(write_program, self._folder)
        host = pool.hosts[next(self._turns) % len(pool.hosts)] if pool.hosts else f"sv-verify-{word}"
        source = await self._store.checkout(Path(batch.repo), batch.base, self._folder / word)
        return AgentOrder(
            id=f"agent-{secrets.token_hex(16)}",
            name=f"sv-{batch.id}-verify-{word}",
            place=Place(pool.provider, host, new_host=not pool.hosts),
            type="command",
            args=("sleep", str(LIFE_SECONDS)),
            source=source,
            base="base",
            branch=f"supervisor/verify-{word}",
            labels={INSTALLATION: self._installation, VERIFIER: batch.id},
            files={PROGRAM: program},
            build_args=pool.build_args,
        )

    # --- going

    def give_up(self, verifier: Verifier) -> None:
        for key in [key for key, each in self._known.items() if each is verifier]:
            del self._known[key]
        self.live.discard(verifier.address.agent_id)
        self._leaving[verifier.address.agent_id] = verifier.address, verifier

    async def tend(self) -> None:
        """Runs as long as the daemon does."""
        while True:
            # Those that can't be put away now are tried again later, but less often.
            await sleep(LONGEST_WAIT_SECONDS if self._is_hindered else TENDING_SECONDS)
            for (batch, _), verifier in list(self._known.items()):
                is_over = batch not in self.state().batches
                if not verifier.users and (is_over or current_time() - verifier.idle_since > IDLE_SECONDS):
                    self.give_up(verifier)
            await self._put_away()

    async def _put_away(self) -> None:
        self._is_hindered = False
        for agent_id, (address, verifier) in list(self._leaving.items()):
            if verifier is not None and verifier.users:
                continue
            try:
                await self._agents.destroy([address])
                self._leaving.pop(agent_id, None)
            except MngrFailed:
                self._is_hindered = True

    # --- outages

    async def waited_out(self, pool: str, failed: Exception) -> bool:
        """Whether the provider was out of reach. If so, it answers again when this returns."""
        spec = self.state().pools.get(pool)
        if spec is None or not isinstance(failed, Outage | MngrFailed):
            return False
        was_away, pause = isinstance(failed, Outage), 1.0
        try:
            while was_away or not await self._answers(spec.provider):
                self.problems[pool] = f"claims wait for verifiers in the pool {pool}: {failed.message}"
                await sleep(pause)
                pause = min(2 * pause, LONGEST_WAIT_SECONDS)
                if await self._answers(spec.provider):
                    return True
                was_away = True
        finally:
            self.problems.pop(pool, None)
        return False

    async def _answers(self, provider: str) -> bool:
        try:
            return (await self._agents.list(provider)).complete
        except MngrFailed:
            return False
