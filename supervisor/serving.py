"""Runs the daemon for its users: the configuration, the API, signals, and signs of life for systemd."""

import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import structlog

from supervisor import __version__
from supervisor.adapters.disk import DiskUse
from supervisor.adapters.layout import Layout
from supervisor.adapters.mngr.lifetimes import lifetimes
from supervisor.adapters.recordings.kept import KeptRecordings
from supervisor.adapters.tmux_signs import TmuxSigns
from supervisor.attending import Attending, mngr_facts, warn_of_shared_fate
from supervisor.boot import branch_trials, daemon, mngr_settings, opened
from supervisor.control.desk import Desk
from supervisor.control.server import serving
from supervisor.daemon.heartbeat import beat, status_line
from supervisor.daemon.loop import Loop
from supervisor.daemon.pressure import watch_pressure
from supervisor.daemon.service import Daemon, Devices
from supervisor.daemon.shortage import outlasting
from supervisor.dashboard.serving import Dashboard
from supervisor.errors import SupervisorError
from supervisor.integration.elsewhere import Elsewhere
from supervisor.model.policy import Policy
from supervisor.model.profile import Profile
from supervisor.model.request import Configure
from supervisor.observe.logs import narrate
from supervisor.observe.stream import Stream
from supervisor.paths import credentials_directory
from supervisor.publication.kept_files import KeptFiles
from supervisor.settings import Settings, policy_for, pool_specs, resolve, shown
from supervisor.settings.accounts import governing
from supervisor.systemd import Systemd
from supervisor.tasks import beside
from supervisor.threads import in_thread
from supervisor.transcripts.redact import of_this_process
from supervisor.verification.reached.noting import KnownCode
from supervisor.verification.writers.writing import read_proposal

log = structlog.get_logger()

type Origins = Callable[[], Mapping[str, str]]


class Configuration:
    """The last good configuration. Settings that can't change while agents live change only at a restart."""

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
        """Load it again; True if anything is new. Raises Misconfigured, and the last good one stays."""
        new = await in_thread(self._load)
        fixed = {
            "state_dir",
            "socket",
            "mngr",
            "github",
            "keep",
            "gate",
            "dashboard",
            "telemetry",
            "webhooks",
            "mail",
        }
        if new.model_dump(include=fixed) != self.settings.model_dump(include=fixed):
            log.warning("restart to change these", keys=sorted(fixed))
        changed = new != self.settings
        self.settings, self._sources = new, await in_thread(self._named)
        pools = pool_specs(new, await in_thread(partial(lifetimes, new)))
        events = await loop.inbox.ask(Configure(pools, new.verify_slots))
        events += await loop.inbox.ask(governing(new))
        log.info("configuration reloaded", changed=changed)
        return changed or bool(events)

    def profile(self, name: str) -> Profile:
        return resolve(self.settings, name)

    def policy(self, repo: str) -> Policy | None:
        return policy_for(self.settings.policy, repo)


def run(
    settings: Settings, load: Callable[[], Settings], origins: Origins = dict, *, accept_older: bool = False
) -> int:
    """Run until a signal stops it. `load` reads the configuration again, `origins` where its values come from."""
    return anyio.run(partial(_run, settings, load, origins, accept_older=accept_older))


async def _run(settings: Settings, load: Callable[[], Settings], origins: Origins, *, accept_older: bool) -> int:
    systemd = Systemd()
    async with opened(settings, accept_older=accept_older) as devices:
        configuration = Configuration(settings, load, origins)
        supervisor = daemon(settings, devices, current=lambda: configuration.settings)
        ended = anyio.Event()
        async with beside() as tasks:
            tasks.start_soon(_running, supervisor, ended)
            await supervisor.ready.wait()
            await _served(configuration, devices, supervisor, ended, systemd)
    return 0


async def _running(supervisor: Daemon, ended: anyio.Event) -> None:
    await supervisor.run()
    ended.set()


async def _served(
    configuration: Configuration, devices: Devices, supervisor: Daemon, ended: anyio.Event, systemd: Systemd
) -> None:
    """Serve the API, signals and signs of life, for as long as the daemon runs."""
    settings = configuration.settings
    stream, disk = Stream(devices.journal, supervisor.loop.caught_up), DiskUse(settings.state_dir)
    dashboard = Dashboard(settings)
    supervisor.loop.watch(stream.notify)
    supervisor.loop.watch(narrate)
    attending = Attending(lambda: configuration.settings, supervisor.loop, devices.journal, stream, supervisor.meters)
    facts: dict[str, Any] = {"version": __version__, "state_dir": str(settings.state_dir)}
    async with beside() as making:
        desk = replace(
            _desk(configuration, devices, supervisor, stream, facts),
            disk=lambda: disk.known,
            receivers=attending.receivers,
            telemetry=attending.telemetry.data,
            meters=supervisor.meters,
            schedules=attending.schedules,
            branches=Elsewhere(Layout(settings.state_dir), making, branch_trials(settings, devices.verifiers)),
            invite=dashboard.invite,
        )
        async with serving(desk, settings.socket), dashboard.serving(desk), beside() as tasks:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
                systemd.ready(status_line(supervisor.loop.state))
                agents = len(supervisor.loop.state.attempts)
                log.info("ready", socket=str(settings.socket), agents=agents)
                tasks.start_soon(_obey, signals, supervisor, configuration, systemd)
                tasks.start_soon(outlasting, "signs of life", partial(beat, supervisor, systemd))
                tasks.start_soon(outlasting, "mngr", partial(mngr_facts, devices.agents, facts))
                tasks.start_soon(outlasting, "disk", disk.watch)
                tasks.start_soon(outlasting, "pressure", partial(watch_pressure, supervisor.loop, settings.state_dir))
                attending.start(tasks)
                if systemd.is_service and any(pool.provider == "local" for pool in settings.pools):
                    signs = TmuxSigns(mngr_settings(settings).environment())
                    tasks.start_soon(outlasting, "tmux", partial(warn_of_shared_fate, signs))
                await ended.wait()


def _desk(
    configuration: Configuration, devices: Devices, supervisor: Daemon, stream: Stream, facts: dict[str, Any]
) -> Desk:
    """What the API needs for its answers."""
    layout = Layout(configuration.settings.state_dir)
    return Desk(
        state=lambda: supervisor.loop.state,
        ask=supervisor.loop.inbox.ask,
        journal=devices.journal,
        store=devices.store,
        stream=stream,
        logs=devices.logs,
        files=lambda: KeptFiles(layout, of_this_process(credentials_directory())),
        recordings=lambda: KeptRecordings(layout, of_this_process(credentials_directory())),
        profile=configuration.profile,
        policy=configuration.policy,
        reload=lambda: configuration.reload(supervisor.loop),
        facts=facts,
        configuration=configuration.shown,
        proposal=partial(read_proposal, layout),
        problems=lambda: supervisor.problems,
        strays=lambda: supervisor.watch.strays.left_alone,
        known=KnownCode(layout),
    )


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
