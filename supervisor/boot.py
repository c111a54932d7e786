"""The one module that knows everyone: settings become devices, devices become a daemon."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from supervisor import __version__
from supervisor.adapters.collector import WorkCollector
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.adapters.leftovers import end_creates
from supervisor.adapters.lock import lock
from supervisor.adapters.mngr import MngrSettings, open_agents
from supervisor.adapters.orders import ContractOrders, credentials_directory
from supervisor.adapters.sqlite.journal import open_journal
from supervisor.adapters.tmux_signs import TmuxSigns
from supervisor.adapters.unjudged import LeftInItsRefs, TakenAtItsWord
from supervisor.daemon.service import Daemon, Devices
from supervisor.daemon.watch import Rhythm
from supervisor.observe.snapshot import seal
from supervisor.settings import Settings, pool_specs


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Devices]:
    """Raises Locked when another daemon has this state directory, Unreadable when its state can't be trusted."""
    layout = Layout(settings.state_dir)
    settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock(settings.state_dir):
        journal = open_journal(layout.journal)
        mngr = mngr_settings(settings)
        agents = await open_agents(mngr)
        store = GitStore(settings.state_dir)
        try:
            yield Devices(
                journal=journal,
                agents=agents,
                store=store,
                signs=TmuxSigns(mngr.environment()),
                orders=ContractOrders(layout, journal.installation, credentials_directory()),
                collector=WorkCollector(agents, store, layout),
                judge=TakenAtItsWord(),
                integrator=LeftInItsRefs(),
                seal=seal,
                leftovers=end_creates,
            )
        finally:
            await agents.close()
            await journal.close()


def daemon(settings: Settings, devices: Devices) -> Daemon:
    rhythm = Rhythm(listing=settings.mngr.list_seconds)
    observe = settings.mngr.observe == "always"
    return Daemon(devices, pool_specs(settings), rhythm=rhythm, observe=observe, version=__version__)


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
