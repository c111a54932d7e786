"""The device itself: every verb of the `Agents` port as calls of mngr.

Traps of mngr that are handled here, each measured:
- `stop` with one unknown agent fails the whole batch; `destroy -f` with one does nothing at all and says nothing.
- `message` to an unknown agent succeeds. `list` of an unknown provider is empty and succeeds.
- An agent asked for at an outdated address is reported as unknown: see `finding`.
- `gc` takes the work directory of a running create for an orphan, so it never runs during one.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import structlog
from anyio import Lock, create_task_group

from supervisor.adapters.mngr.answers import AGENT_ID, event, events, failure, listing, not_created, plain_words
from supervisor.adapters.mngr.calls import Answer, Calls, Lane
from supervisor.adapters.mngr.dialects import Dialect, dialect_of
from supervisor.adapters.mngr.finding import Finding
from supervisor.adapters.mngr.following import followed
from supervisor.adapters.mngr.local_host import LocalHost
from supervisor.adapters.mngr.observing import observed
from supervisor.adapters.mngr.order import LOCAL, create_argv, pinned, private_dir
from supervisor.adapters.mngr.plain import PlainTransport, resolved
from supervisor.adapters.mngr.pulling import pull_argv, settled
from supervisor.adapters.mngr.settings import MngrSettings
from supervisor.adapters.mngr.streams import Streams
from supervisor.adapters.mngr.together import Act, Together
from supervisor.adapters.mngr.warm import WarmTransport
from supervisor.adapters.mngr.work_dirs import work_dir_in
from supervisor.errors import MngrFailed
from supervisor.ports import AgentAddress, AgentOrder, ExecResult, Listing, MngrFacts, SeenAgent
from supervisor.tasks import Promise

JSONL = ("--format", "jsonl")
#: Left-overs of killed creates are swept at the next destroy after a failed create, and after this many destroyed
#: agents.
SWEEP_EVERY = 50

log = structlog.get_logger(__name__)


class MngrAgents:
    def __init__(self, settings: MngrSettings) -> None:
        self._settings = settings
        plain = PlainTransport(settings)
        self._warm = WarmTransport(settings, plain) if settings.warm else None
        self._calls = Calls(self._warm or plain, settings.max_output_bytes)
        self._version: tuple[int, str] | None = None
        self._asking_version = Lock()
        self._creating = 0
        self._sweeping = Lock()
        self._until_sweep = SWEEP_EVERY
        self._destroying = Together(self._destroy_surely)
        self._host, self._finding = LocalHost(settings.host_dir), Finding(self.list)
        self._streams = Streams(settings)

    async def facts(self) -> MngrFacts:
        version = await self._versioned()
        warm = self._warm
        if warm is not None:
            await warm.prepare()
        return MngrFacts(
            version=version,
            transport="warm" if warm is not None and warm.is_up else "plain",
            interpreter=warm.interpreter if warm is not None else "",
            fallback=warm.fallback if warm is not None else "",
        )

    async def create(self, order: AgentOrder) -> AgentAddress:
        dialect = await self._dialect()
        async with self._sweeping:
            self._creating += 1
        try:
            with create_argv(order, dialect, self._scratch) as argv:
                lane: Lane = "make" if order.place.new_host else "create"
                answer = await self._run(lane, argv, self._settings.create_timeout, provider=order.place.provider)
            created = event(answer, "created")
            # Once mngr says that the agent is created, it exists, whatever fails after that.
            if created is None:
                raise not_created(answer, is_remote=order.place.provider != LOCAL)
            host_id = (self._host.id if order.place.provider == LOCAL else "") or str(created["host_id"])
            return AgentAddress(str(created["agent_id"]), host_id, order.place.provider)
        except BaseException:
            self._until_sweep = 0
            raise
        finally:
            self._creating -= 1

    async def list(self, provider: str) -> Listing:
        argv = ("list", "--provider", provider, "--on-error", "continue", *JSONL)
        answer = await self._run("list", argv, provider=provider)
        if answer.code < 0 or answer.code in (2, 137, 143):
            raise failure("list", answer)
        found = listing(answer, provider)
        if found.agents or found.problems or provider == LOCAL:
            return found
        # The listing of an unknown provider is empty, like that of one without agents; only gc tells them apart.
        probe = await self._run("list", ("gc", "--dry-run", "--provider", provider, *JSONL), provider=provider)
        return found if probe.code == 0 else Listing((), (failure("gc", probe).message,))

    async def message(self, address: AgentAddress, text: str) -> None:
        await self._finding.surely(address, lambda there: self._message(there, text))

    async def _message(self, address: AgentAddress, text: str) -> None:
        with private_dir(self._scratch) as here:
            path = here / "message"
            path.write_text(text, encoding="utf-8")
            argv = ("message", await self._name(address), "--message-file", str(path), "--no-start", *JSONL)
            answer = await self._steer(argv, address)
        told = list(events(answer.stdout))
        # 7: delivered, but a dialog of the agent is open now, which `list` will report.
        if any(e.get("event") == "message_sent" or e.get("total_sent") for e in told) or answer.code == 7:
            return
        refused = next((str(e.get("error", "")) for e in told if e.get("event") == "message_error"), "")
        if refused:
            raise MngrFailed(f"{address} did not take a message: {plain_words(refused)}", reason="refused")
        if answer.code != 0:
            raise failure("message", answer)
        raise MngrFailed(f"There is no agent {address} to take a message.", reason="no-such-agent")

    async def exec(
        self,
        address: AgentAddress,
        command: str,
        *,
        timeout: float | None = None,
        is_long: bool = False,
        is_waiting: bool = False,
    ) -> ExecResult:
        lane: Lane = "wait" if is_waiting else "run" if is_long else "copy"
        return await self._finding.surely(address, lambda at: self._exec(at, command, timeout, lane))

    async def _exec(self, address: AgentAddress, command: str, timeout: float | None, lane: Lane) -> ExecResult:
        limit = timeout or self._settings.call_timeout
        argv = ("exec", *JSONL, "--timeout", f"{limit:g}", "--", await self._name(address), command)
        answer = await self._run(lane, argv, limit + self._settings.call_timeout, provider=address.provider)
        if broken := event(answer, "exec_error"):
            raise MngrFailed(plain_words(str(broken.get("error"))), reason="provider")
        if said := event(answer, "exec_result"):
            return ExecResult(str(said.get("stdout", "")), str(said.get("stderr", "")), bool(said.get("success")))
        raise failure("exec", answer)

    async def pull(self, address: AgentAddress, remote: str, local: Path) -> None:
        await self._finding.surely(address, lambda there: self._pull(there, remote, local))

    async def _pull(self, address: AgentAddress, remote: str, local: Path) -> None:
        dialect = await self._dialect()
        async with settled(remote, local) as landing:
            argv = pull_argv(dialect, await self._name(address), remote, landing, self._settings)
            answer = await self._run("copy", argv, provider=address.provider)
            if answer.code != 0:
                raise failure("pull", answer)

    async def stop(self, addresses: Sequence[AgentAddress]) -> None:
        await self._each_provider(self._stop, [self._finding.now_at(address) for address in addresses])

    async def _stop(self, addresses: Sequence[AgentAddress]) -> None:
        answer = await self._steer(("stop", *await self._names(addresses), *JSONL), addresses[0])
        result = event(answer, "stop_result") or {}
        if answer.code == 0 and not result.get("failures"):
            return
        failed = failure("stop", answer)
        if failed.reason != "no-such-agent":
            raise failed
        await self._without_unknown(self._stop, addresses, answer)

    async def destroy(self, addresses: Sequence[AgentAddress]) -> None:
        await self._each_provider(self._destroying, [self._finding.now_at(address) for address in addresses])
        self._until_sweep -= len(addresses)
        if self._until_sweep <= 0:
            for provider in {address.provider for address in addresses}:
                await self.sweep(provider)

    async def _destroy_surely(self, addresses: Sequence[AgentAddress]) -> None:
        try:
            await self._destroy(addresses)
        except MngrFailed as failed:
            # mngr then destroys the emptied host, and fails if the provider can't destroy hosts (ssh): ask again.
            if failed.reason != "refused":
                raise
            await self._destroy(addresses)

    async def _destroy(self, addresses: Sequence[AgentAddress]) -> None:
        argv = ("destroy", "--force", "--no-gc", *await self._names(addresses), *JSONL)
        answer = await self._steer(argv, addresses[0])
        result = event(answer, "destroy_result")
        if answer.code == 0 and result is not None and not result.get("failures"):
            return
        failed = failure("destroy", answer)
        if answer.code != 0 and failed.reason != "no-such-agent":
            raise failed
        await self._without_unknown(self._destroy, addresses, answer)

    async def _without_unknown(self, act: Act, addresses: Sequence[AgentAddress], answer: Answer) -> None:
        """Act again on the agents that mngr did not name, then on each of the others at its present address."""
        if len(addresses) == 1:
            if (there := await self._finding.found(addresses[0])) is not None:
                await act([there])
            return
        named = set(AGENT_ID.findall(answer.stdout + answer.stderr))
        rest = [a for a in addresses if a.agent_id not in named]
        if rest and len(rest) < len(addresses):
            await act(rest)
            rest = [a for a in addresses if a.agent_id in named]
        for address in rest:
            await act([address])

    async def label(self, address: AgentAddress, labels: Mapping[str, str]) -> None:
        await self._finding.surely(address, lambda there: self._label(there, labels))

    async def _label(self, address: AgentAddress, labels: Mapping[str, str]) -> None:
        words = [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]
        answer = await self._steer(("label", await self._name(address), *words, *JSONL), address)
        if answer.code != 0:
            raise failure("label", answer)

    def observe(self) -> AsyncIterator[SeenAgent]:
        return observed(self._streams, self._dialect)

    async def follow(self, address: AgentAddress, *, forever: bool = True) -> AsyncGenerator[bytes]:
        if (await self._dialect()).is_streaming:
            name = await self._name(self._finding.now_at(address))
            async for line in followed(self._streams, name, forever=forever):
                yield line

    def state_dir(self, agent_id: str) -> Path:
        return self._settings.host_dir / "agents" / agent_id

    def work_dir(self, agent_id: str) -> Path | None:
        return work_dir_in(self.state_dir(agent_id))

    async def sweep(self, provider: str) -> None:
        """Remove what killed creates left behind; does nothing while a create is under way."""
        if self._creating or self._sweeping.locked():
            return
        async with self._sweeping:
            self._until_sweep = SWEEP_EVERY
            try:
                argv = ("gc", "--provider", provider, "--on-error", "continue", *JSONL)
                answer = await self._run("steer", argv, provider=provider)
                if answer.code != 0:
                    raise failure("gc", answer)
            except MngrFailed as failed:
                log.warning("could not sweep", provider=provider, why=failed.message)

    async def close(self) -> None:
        self._streams.close()
        await self._calls.close()

    @property
    def _scratch(self) -> Path:
        return self._settings.cwd / "calls"

    async def _run(
        self, lane: Lane, argv: Iterable[str], timeout: float | None = None, *, provider: str = LOCAL
    ) -> Answer:
        words, limit = tuple(argv), timeout or self._settings.call_timeout
        if provider != LOCAL or words == ("--version",):
            return await self._calls.run(lane, words, limit, provider)
        async with self._host.alone_at_first():
            return await self._calls.run(lane, words, limit, provider)

    async def _steer(self, argv: Iterable[str], where: AgentAddress) -> Answer:
        return await self._run("steer", argv, provider=where.provider)

    async def _each_provider(self, act: Act, addresses: Sequence[AgentAddress]) -> None:
        """A provider that is down must not delay the others."""
        providers = {address.provider for address in addresses}
        promises: list[Promise[None]] = []
        async with create_task_group() as acting:
            for provider in sorted(providers):
                promises.append(Promise())
                batch = [a for a in addresses if a.provider == provider]
                acting.start_soon(promises[-1].of, partial(act, batch))
        for promise in promises:
            promise.told()

    async def _versioned(self) -> str:
        """The version; asked for once, and again when the command has changed on disk."""
        changed = resolved(self._settings).stat().st_mtime_ns
        async with self._asking_version:
            if self._version is None or self._version[0] != changed:
                answer = await self._run("list", ("--version",))
                if answer.code != 0:
                    raise failure("--version", answer)
                self._version = changed, plain_words(answer.stdout).removeprefix("mngr").strip()
            return self._version[1]

    async def _dialect(self) -> Dialect:
        return dialect_of(await self._versioned())

    async def _name(self, address: AgentAddress) -> str:
        return (await self._names([address]))[0]

    async def _names(self, addresses: Sequence[AgentAddress]) -> Sequence[str]:
        is_pinning = (await self._dialect()).is_pinning
        return [pinned(a) if is_pinning else a.agent_id for a in addresses]
