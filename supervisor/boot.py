"""The one module that knows everyone: settings become devices, devices become a daemon."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

import structlog

from supervisor import __version__
from supervisor.adapters.clearing import RoomForMore
from supervisor.adapters.disk import DiskUse
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.kept_agents import KeptAgents
from supervisor.adapters.layout import Layout
from supervisor.adapters.leftovers import end_creates
from supervisor.adapters.lock import lock
from supervisor.adapters.logs.device import AgentLogs
from supervisor.adapters.logs.panes import Panes
from supervisor.adapters.mngr import MngrSettings, open_agents
from supervisor.adapters.sqlite.journal import open_journal
from supervisor.adapters.systemd import Systemd
from supervisor.adapters.tmux_signs import TmuxSigns
from supervisor.control.desk import Desk
from supervisor.control.server import serving
from supervisor.daemon.heartbeat import beat, status_line
from supervisor.daemon.loop import Loop
from supervisor.daemon.service import Daemon, Devices
from supervisor.daemon.watch import Rhythm
from supervisor.errors import MngrFailed, SupervisorError
from supervisor.flow.retention import Limits
from supervisor.integration.elsewhere import Elsewhere
from supervisor.integration.integrator import BranchIntegrator
from supervisor.integration.review.pull_requests import GitHubPullRequests, OfferedForReview, Where, credential
from supervisor.integration.taken_by_people import TakenByPeople
from supervisor.launch.orders import ContractOrders
from supervisor.model.batch import Profile
from supervisor.model.request import Configure
from supervisor.observe.logs import narrate
from supervisor.observe.snapshot import seal
from supervisor.observe.stream import Stream
from supervisor.paths import credentials_directory
from supervisor.ports import Agents, Clearing, Integrator, Journal
from supervisor.publication.collector import WorkCollector
from supervisor.publication.kept_files import KeptFiles
from supervisor.publication.quarantine import Quarantine
from supervisor.settings import Settings, pool_specs, resolve, shown
from supervisor.transcripts.redact import of_this_process
from supervisor.verification.advising import write_advice
from supervisor.verification.judge import opened_judge
from supervisor.verification.trials.trial import Trials
from supervisor.verification.writers.writing import read_proposal

log = structlog.get_logger()

type Origins = Callable[[], Mapping[str, str]]


@asynccontextmanager
async def opened(settings: Settings, *, accept_older: bool = False) -> AsyncIterator[Devices]:
    """Raises Locked when another daemon has this state directory, Unreadable when its state can't be trusted."""
    layout = Layout(settings.state_dir)
    settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock(settings.state_dir):
        journal = open_journal(layout.journal, accept_older=accept_older)
        mngr = mngr_settings(settings)
        agents = await open_agents(mngr)
        store = GitStore(settings.state_dir)
        await store.recover()
        logs = AgentLogs(layout, agents, of_this_process(credentials_directory()), Panes(mngr.environment()))
        try:
            yield Devices(
                journal=journal,
                agents=agents,
                store=store,
                signs=TmuxSigns(mngr.environment()),
                orders=ContractOrders(layout, journal.installation, credentials_directory(), write_advice),
                collector=WorkCollector(agents, Quarantine(store), layout),
                judge=await opened_judge(store, layout, settings.verify_slots),
                integrator=_integrator(settings, store, layout),
                logs=logs,
                clearing=_clearing(settings, layout, journal, agents),
                seal=seal,
                leftovers=end_creates,
                mngr=mngr.by_hand,
            )
        finally:
            await logs.close()
            await agents.close()
            await journal.close()


def _clearing(settings: Settings, layout: Layout, journal: Journal, agents: Agents) -> Clearing:
    kept = KeptAgents(agents, journal.installation, {pool.provider for pool in settings.pools})
    return RoomForMore(layout, journal, kept, Limits(**settings.keep.model_dump()))


def _integrator(settings: Settings, store: GitStore, layout: Layout) -> Integrator:
    integrator: Integrator = BranchIntegrator(store, layout, Trials(store, settings.state_dir))
    github, credentials = settings.github, credentials_directory()
    if github.token:
        where = Where(
            github.api_url,
            partial(credential, credentials, github.token),
            github.remote,
            github.repositories,
            github.base,
        )
        files = partial(KeptFiles, layout, of_this_process(credentials))
        integrator = OfferedForReview(integrator, GitHubPullRequests(where, store, files))
    return TakenByPeople(integrator)


def daemon(settings: Settings, devices: Devices, clock: Callable[[], float] = time.time) -> Daemon:
    rhythm = Rhythm(listing=settings.mngr.list_seconds)
    observe = settings.mngr.observe == "always" or (
        # Of this machine's own agents the files and the tmux server tell, at no cost; mngr looks at all of them again
        # at every change of one.
        settings.mngr.observe == "auto" and any(pool.provider != "local" for pool in settings.pools)
    )
    return Daemon(devices, pool_specs(settings), rhythm=rhythm, observe=observe, version=__version__, clock=clock)


def mngr_settings(settings: Settings) -> MngrSettings:
    return MngrSettings(
        home=settings.mngr_home,
        tmux_tmpdir=settings.tmux_tmpdir,
        cwd=settings.state_dir / "mngr",
        command=settings.mngr.command,
        warm=settings.mngr.warm,
        call_timeout=settings.mngr.call_timeout_seconds,
        create_timeout=settings.mngr.create_timeout_seconds,
    )


class Configuration:
    """The last good configuration. What can't be changed while agents live is only changed by a restart."""

    def __init__(self, settings: Settings, load: Callable[[], Settings], origins: Origins) -> None:
        self.settings, self._load, self._origins = settings, load, origins
        self._sources = self._named()

    def _named(self) -> list[str]:
        """Where its values come from."""
        return list(dict.fromkeys(self._origins().values())) or ["defaults"]

    def shown(self) -> dict[str, Any]:
        path = os.environ.get("PATH", os.defpath)
        return {"settings": shown(self.settings), "sources": self._sources, "path": path, "user": os.geteuid()}

    async def reload(self, loop: Loop) -> bool:
        """Whether anything is new. Raises Misconfigured, and the last good one stays."""
        new = await asyncio.to_thread(self._load)
        fixed = {"state_dir", "socket", "mngr", "github", "keep"}
        if new.model_dump(include=fixed) != self.settings.model_dump(include=fixed):
            log.warning("restart to change these", keys=sorted(fixed))
        changed = new != self.settings
        self.settings, self._sources = new, await asyncio.to_thread(self._named)
        events = await loop.inbox.ask(Configure(pool_specs(new)))
        log.info("configuration reloaded", changed=changed)
        return changed or bool(events)

    def profile(self, name: str) -> Profile:
        return resolve(self.settings, name)


def run(
    settings: Settings, load: Callable[[], Settings], origins: Origins = dict, *, accept_older: bool = False
) -> int:
    """Until a signal says stop. `load` reads the configuration again, `origins` where its values come from."""
    return asyncio.run(_run(settings, load, origins, accept_older=accept_older))


async def _run(settings: Settings, load: Callable[[], Settings], origins: Origins, *, accept_older: bool) -> int:
    systemd = Systemd()
    async with opened(settings, accept_older=accept_older) as devices:
        supervisor = daemon(settings, devices)
        running = asyncio.create_task(supervisor.run())
        ready = asyncio.create_task(supervisor.ready.wait())
        await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if not running.done():
            await _served(Configuration(settings, load, origins), devices, supervisor, running, systemd)
        await running
    return 0


async def _served(
    configuration: Configuration, devices: Devices, supervisor: Daemon, running: asyncio.Task[None], systemd: Systemd
) -> None:
    """The API, signals and signs of life, for as long as the daemon runs."""
    stream, layout = Stream(devices.journal), Layout(configuration.settings.state_dir)
    supervisor.loop.watch(stream.notify)
    supervisor.loop.watch(narrate)
    disk = DiskUse(configuration.settings.state_dir)
    facts: dict[str, Any] = {"version": __version__, "state_dir": str(configuration.settings.state_dir)}
    elsewhere = Elsewhere(layout)
    desk = Desk(
        state=lambda: supervisor.loop.state,
        ask=supervisor.loop.inbox.ask,
        journal=devices.journal,
        store=devices.store,
        stream=stream,
        logs=devices.logs,
        files=lambda: KeptFiles(layout, of_this_process(credentials_directory())),
        profile=configuration.profile,
        reload=lambda: configuration.reload(supervisor.loop),
        facts=facts,
        configuration=configuration.shown,
        proposal=partial(read_proposal, Layout(configuration.settings.state_dir)),
        problems=lambda: supervisor.watch.problems,
        strays=lambda: supervisor.watch.strays.left_alone,
        disk=lambda: disk.known,
        branches=elsewhere,
    )
    async with _closing(elsewhere), serving(desk, configuration.settings.socket):
        with _signals(supervisor, configuration, systemd):
            systemd.ready(status_line(supervisor.loop.state))
            log.info("ready", socket=str(configuration.settings.socket), agents=len(supervisor.loop.state.attempts))
            doing = [beat(supervisor, systemd), _mngr_facts(devices.agents, facts), disk.watch()]
            if systemd.is_service:
                doing.append(_warn_of_shared_fate(configuration.settings))
            beside = [asyncio.create_task(each) for each in doing]
            try:
                await running
            finally:
                for task in beside:
                    task.cancel()


@asynccontextmanager
async def _closing(elsewhere: Elsewhere) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await elsewhere.close()


async def _mngr_facts(agents: Agents, facts: dict[str, Any]) -> None:
    """Nobody waits for mngr: without it the daemon answers, keeps what it has, and says so."""
    try:
        facts["mngr"] = asdict(await agents.facts())
    except MngrFailed as failed:
        facts["mngr"] = {"problem": failed.message}
        log.error("can't use mngr", why=failed.message, hint=failed.hint)


async def _warn_of_shared_fate(settings: Settings) -> None:
    has_local = any(pool.provider == "local" for pool in settings.pools)
    if has_local and await TmuxSigns(mngr_settings(settings).environment()).share_our_fate():
        hint = "start agent-supervisor-agents.service before this one: see docs/systemd.md"
        log.warning("local agents would end with this service: their tmux server is not outside of it", hint=hint)


@contextmanager
def _signals(supervisor: Daemon, configuration: Configuration, systemd: Systemd) -> Iterator[None]:
    """TERM and INT detach, HUP reads the configuration again."""
    loop = asyncio.get_running_loop()
    reloads: set[asyncio.Task[None]] = set()

    def stop() -> None:
        systemd.stopping()
        supervisor.stop()

    async def reload() -> None:
        try:
            await configuration.reload(supervisor.loop)
        except SupervisorError as error:
            log.error("configuration not reloaded: the last good one stays", why=error.message, hint=error.hint)

    def reload_soon() -> None:
        task = loop.create_task(reload())
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    handlers = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: reload_soon}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
