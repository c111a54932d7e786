"""The one module that knows everyone: settings become devices, devices become a daemon."""

import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

import anyio
import structlog
from anyio import CancelScope

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
from supervisor.adapters.mngr.lifetimes import lifetimes
from supervisor.adapters.sqlite.journal import open_journal
from supervisor.adapters.systemd import Systemd
from supervisor.adapters.tmux_signs import TmuxSigns
from supervisor.control.desk import Desk
from supervisor.control.server import serving
from supervisor.daemon.heartbeat import beat, status_line
from supervisor.daemon.loop import Loop
from supervisor.daemon.service import Daemon, Devices
from supervisor.daemon.shortage import outlasting
from supervisor.daemon.watch import Rhythm
from supervisor.errors import MngrFailed, SupervisorError
from supervisor.flow.retention import Limits
from supervisor.integration.elsewhere import Elsewhere
from supervisor.integration.integrator import BranchIntegrator, TakenByPeople
from supervisor.integration.review.pull_requests import GitHubPullRequests, OfferedForReview, Where, credential
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
from supervisor.tasks import beside
from supervisor.threads import in_thread
from supervisor.transcripts.redact import of_this_process
from supervisor.verification.inspecting import write_advice
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
        try:
            async with beside() as following:
                redactor, panes = of_this_process(credentials_directory()), Panes(mngr.environment())
                logs = AgentLogs(layout, agents, redactor, panes, following)
                try:
                    yield await _devices(settings, journal, agents, store, logs)
                finally:
                    with CancelScope(shield=True):
                        await logs.close()
        finally:
            with CancelScope(shield=True):
                await agents.close()
                await journal.close()


async def _devices(settings: Settings, journal: Journal, agents: Agents, store: GitStore, logs: AgentLogs) -> Devices:
    layout, mngr = Layout(settings.state_dir), mngr_settings(settings)
    return Devices(
        journal=journal,
        agents=agents,
        store=store,
        signs=TmuxSigns(mngr.environment()),
        orders=ContractOrders(layout, journal.installation, credentials_directory(), write_advice),
        collector=WorkCollector(agents, Quarantine(store), layout),
        judge=await opened_judge(store, layout),
        integrator=_integrator(settings, store, layout),
        logs=logs,
        clearing=_clearing(settings, layout, journal, agents),
        seal=seal,
        leftovers=end_creates,
        mngr=mngr.by_hand,
    )


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
    return Daemon(
        devices,
        pool_specs(settings, lifetimes(settings)),
        verify_slots=settings.verify_slots,
        rhythm=rhythm,
        observe=observe,
        version=__version__,
        clock=clock,
    )


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
        new = await in_thread(self._load)
        fixed = {"state_dir", "socket", "mngr", "github", "keep"}
        if new.model_dump(include=fixed) != self.settings.model_dump(include=fixed):
            log.warning("restart to change these", keys=sorted(fixed))
        changed = new != self.settings
        self.settings, self._sources = new, await in_thread(self._named)
        pools = pool_specs(new, await in_thread(partial(lifetimes, new)))
        events = await loop.inbox.ask(Configure(pools, new.verify_slots))
        log.info("configuration reloaded", changed=changed)
        return changed or bool(events)

    def profile(self, name: str) -> Profile:
        return resolve(self.settings, name)


def run(
    settings: Settings, load: Callable[[], Settings], origins: Origins = dict, *, accept_older: bool = False
) -> int:
    """Until a signal says stop. `load` reads the configuration again, `origins` where its values come from."""
    return anyio.run(partial(_run, settings, load, origins, accept_older=accept_older))


async def _run(settings: Settings, load: Callable[[], Settings], origins: Origins, *, accept_older: bool) -> int:
    systemd = Systemd()
    async with opened(settings, accept_older=accept_older) as devices:
        supervisor, ended = daemon(settings, devices), anyio.Event()
        async with beside() as tasks:
            tasks.start_soon(_running, supervisor, ended)
            await supervisor.ready.wait()
            await _served(Configuration(settings, load, origins), devices, supervisor, ended, systemd)
    return 0


async def _running(supervisor: Daemon, ended: anyio.Event) -> None:
    await supervisor.run()
    ended.set()


async def _served(
    configuration: Configuration, devices: Devices, supervisor: Daemon, ended: anyio.Event, systemd: Systemd
) -> None:
    """The API, signals and signs of life, for as long as the daemon runs."""
    stream, layout = Stream(devices.journal), Layout(configuration.settings.state_dir)
    supervisor.loop.watch(stream.notify)
    supervisor.loop.watch(narrate)
    disk = DiskUse(configuration.settings.state_dir)
    facts: dict[str, Any] = {"version": __version__, "state_dir": str(configuration.settings.state_dir)}
    async with beside() as making:
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
            proposal=partial(read_proposal, layout),
            problems=lambda: supervisor.watch.problems,
            strays=lambda: supervisor.watch.strays.left_alone,
            disk=lambda: disk.known,
            branches=Elsewhere(layout, making),
        )
        async with serving(desk, configuration.settings.socket), beside() as tasks:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
                systemd.ready(status_line(supervisor.loop.state))
                agents = len(supervisor.loop.state.attempts)
                log.info("ready", socket=str(configuration.settings.socket), agents=agents)
                tasks.start_soon(_obey, signals, supervisor, configuration, systemd)
                tasks.start_soon(outlasting, "signs of life", partial(beat, supervisor, systemd))
                tasks.start_soon(outlasting, "mngr", partial(_mngr_facts, devices.agents, facts))
                tasks.start_soon(outlasting, "disk", disk.watch)
                if systemd.is_service:
                    tasks.start_soon(outlasting, "tmux", partial(_warn_of_shared_fate, configuration.settings))
                await ended.wait()


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


async def _obey(
    signals: AsyncIterator[signal.Signals], supervisor: Daemon, configuration: Configuration, systemd: Systemd
) -> None:
    """TERM and INT detach, HUP reads the configuration again."""
    async with anyio.create_task_group() as reloads:
        async for number in signals:
            if number == signal.SIGHUP:
                reloads.start_soon(_reload, configuration, supervisor)
            else:
                systemd.stopping()
                supervisor.stop()


async def _reload(configuration: Configuration, supervisor: Daemon) -> None:
    try:
        await configuration.reload(supervisor.loop)
    except SupervisorError as error:
        log.error("configuration not reloaded: the last good one stays", why=error.message, hint=error.hint)
