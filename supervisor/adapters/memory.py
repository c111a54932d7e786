"""The `Agents` port without a mngr: agents are values in memory, only their state directories are on disk."""

import math
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import anyio.lowlevel
from anyio import create_memory_object_stream, sleep_forever
from anyio.streams.memory import MemoryObjectSendStream

from supervisor.errors import MngrFailed
from supervisor.ports import (
    AgentAddress,
    AgentOrder,
    AgentState,
    ExecResult,
    Listing,
    MngrFacts,
    MngrReason,
    SeenAgent,
)

type Shell = Callable[[SeenAgent, str], ExecResult]


def silent(agent: SeenAgent, command: str) -> ExecResult:
    return ExecResult("", "", success=True)


class MemoryAgents:
    """What an agent does meanwhile is told by the test: `change`, `vanish`, and files it puts into `state_dir`."""

    def __init__(self, root: Path, *, providers: Sequence[str] = ("local",), shell: Shell = silent) -> None:
        self._root, self._providers, self._shell = root, set(providers), shell
        self._agents: dict[str, SeenAgent] = {}
        self._down: set[str] = set()
        self._failures: list[tuple[str, MngrFailed]] = []
        self._watchers: set[MemoryObjectSendStream[SeenAgent]] = set()
        self.orders: dict[str, AgentOrder] = {}
        self.messages: list[tuple[str, str]] = []
        #: every verb asked for, in order
        self.calls: list[str] = []

    # --- told by the test ---

    def change(self, agent_id: str, state: AgentState, waiting_reason: str = "") -> None:
        self._put(replace(self._agents[agent_id], state=state, waiting_reason=waiting_reason))

    def vanish(self, agent_id: str) -> None:
        del self._agents[agent_id]

    def set_down(self, provider: str, *, is_down: bool = True) -> None:
        (self._down.add if is_down else self._down.discard)(provider)

    def fail_next(self, verb: str, reason: MngrReason) -> None:
        """Once, before anything is done."""
        self._failures.append((verb, MngrFailed(f"`mngr {verb}` failed as it was told to.", reason=reason)))

    # --- the port ---

    async def facts(self) -> MngrFacts:
        return MngrFacts(version="0.3.0", transport="plain", interpreter="")

    async def create(self, order: AgentOrder) -> AgentAddress:
        await self._begin("create", order.place.provider)
        if order.place.provider not in self._providers:
            raise MngrFailed(f"There is no provider {order.place.provider}.", reason="refused")
        if order.id in self._agents or order.name in {a.name for a in self._agents.values()}:
            raise MngrFailed(f"There is an agent {order.name} already.", reason="duplicate")
        address = AgentAddress(order.id, f"host-{order.place.host or 'only'}", order.place.provider)
        for path, local in order.files.items():
            target = self.state_dir(order.id) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(local, target)
        (work_dir := self._root / "copies" / order.id).mkdir(parents=True)
        self.orders[order.id] = order
        self._put(
            SeenAgent(
                address=address,
                name=order.name,
                state="waiting",
                work_dir=str(work_dir),
                host_name=order.place.host or "localhost",
                labels=dict(order.labels),
            )
        )
        return address

    async def list(self, provider: str) -> Listing:
        self.calls.append("list")
        self._fail_if_told("list")
        if provider in self._down or provider not in self._providers:
            return Listing((), (f"{provider} can't be reached.",))
        return Listing(tuple(a for a in self._agents.values() if a.address.provider == provider))

    async def message(self, address: AgentAddress, text: str) -> None:
        agent = await self._known("message", address)
        if agent.state in ("done", "stopped"):
            raise MngrFailed(f"{address} is not running.", reason="refused")
        self.messages.append((address.agent_id, text))

    async def exec(
        self,
        address: AgentAddress,
        command: str,
        *,
        timeout: float | None = None,
        is_long: bool = False,
        is_waiting: bool = False,
    ) -> ExecResult:
        return self._shell(await self._known("exec", address), command)

    async def pull(self, address: AgentAddress, remote: str, local: Path) -> None:
        agent = await self._known("pull", address)
        source = Path(agent.work_dir) / PurePosixPath(remote)
        if remote.endswith("/") and source.is_dir():
            shutil.copytree(source, local, dirs_exist_ok=True)
        elif source.is_file():
            local.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, local)
        else:
            raise MngrFailed(f"{address} has no {remote}.", reason="refused")

    async def stop(self, addresses: Sequence[AgentAddress]) -> None:
        for address in addresses:
            await self._begin("stop", address.provider)
            if agent := self._agents.get(address.agent_id):
                self._put(replace(agent, state="stopped", waiting_reason="", pid=None))

    async def destroy(self, addresses: Sequence[AgentAddress]) -> None:
        for address in addresses:
            await self._begin("destroy", address.provider)
            if agent := self._agents.pop(address.agent_id, None):
                shutil.rmtree(agent.work_dir)
                shutil.rmtree(self.state_dir(address.agent_id), ignore_errors=True)
                self._tell(replace(agent, state="unknown", pid=None))

    async def label(self, address: AgentAddress, labels: Mapping[str, str]) -> None:
        agent = await self._known("label", address)
        self._put(replace(agent, labels={**agent.labels, **labels}))

    async def observe(self) -> AsyncIterator[SeenAgent]:
        sender, heard = create_memory_object_stream[SeenAgent](math.inf)
        for agent in self._agents.values():
            sender.send_nowait(agent)
        self._watchers.add(sender)
        with sender, heard:
            try:
                async for agent in heard:
                    yield agent
            finally:
                self._watchers.discard(sender)

    async def follow(self, address: AgentAddress, *, forever: bool = True) -> AsyncGenerator[bytes]:
        await self._known("follow", address)
        for path in sorted((self.state_dir(address.agent_id) / "events").rglob("events.jsonl")):
            for line in path.read_bytes().splitlines():
                yield line
        if forever:
            await sleep_forever()

    def state_dir(self, agent_id: str) -> Path:
        return self._root / "agents" / agent_id

    def work_dir(self, agent_id: str) -> Path | None:
        agent = self._agents.get(agent_id)
        return Path(agent.work_dir) if agent is not None else None

    async def close(self) -> None:
        for watcher in self._watchers:
            watcher.close()

    def _put(self, agent: SeenAgent) -> None:
        self._agents[agent.address.agent_id] = agent
        self._tell(agent)

    def _tell(self, agent: SeenAgent) -> None:
        for watcher in self._watchers:
            watcher.send_nowait(agent)

    def _fail_if_told(self, verb: str) -> None:
        told = next((f for f in self._failures if f[0] == verb), None)
        if told:
            self._failures.remove(told)
            raise told[1]

    async def _begin(self, verb: str, provider: str) -> None:
        self.calls.append(verb)
        await anyio.lowlevel.checkpoint()
        self._fail_if_told(verb)
        if provider in self._down:
            raise MngrFailed(f"{provider} can't be reached.", reason="provider")

    async def _known(self, verb: str, address: AgentAddress) -> SeenAgent:
        await self._begin(verb, address.provider)
        if agent := self._agents.get(address.agent_id):
            return agent
        raise MngrFailed(f"There is no agent {address}.", reason="no-such-agent")
