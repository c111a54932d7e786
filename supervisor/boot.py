"""The one module that knows all others: it makes devices from settings, and a daemon from devices."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import structlog
from anyio import CancelScope

from supervisor import __version__, ports
from supervisor.adapters.clearing import RoomForMore
from supervisor.adapters.gating import GatedLogs, Gating, gate_of
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
from supervisor.adapters.tmux_signs import TmuxSigns
from supervisor.daemon.service import Daemon, Devices
from supervisor.daemon.watch import Rhythm
from supervisor.flow.retention import Limits
from supervisor.integration.integrator import BranchIntegrator, TakenByPeople
from supervisor.integration.review.amending import AmendingReviser
from supervisor.integration.review.pull_requests import GitHubPullRequests, OfferedForReview, Where, credential
from supervisor.integration.revising import BranchReviser
from supervisor.launch.orders import ContractOrders
from supervisor.observe.snapshot import seal
from supervisor.paths import credentials_directory
from supervisor.ports import Agents, Clearing, Integrator, Journal
from supervisor.ports.review import Reviser
from supervisor.publication.collector import WorkCollector
from supervisor.publication.kept_files import KeptFiles
from supervisor.publication.quarantine import Quarantine
from supervisor.settings import Settings, alert_rules, pool_specs
from supervisor.settings.accounts import governing, phrases
from supervisor.tasks import beside
from supervisor.transcripts.redact import of_this_process
from supervisor.verification.courts import BranchTrials, Courts
from supervisor.verification.inspecting import write_advice
from supervisor.verification.judge import opened_judge
from supervisor.verification.reached.noting import NotingJudge
from supervisor.verification.remote.verifiers import Verifiers
from supervisor.verification.setups.kept import prune
from supervisor.verification.trials.asking import AnyTrials
from supervisor.verification.trials.trial import Trials
from supervisor.walled.orders import WalledOrders, agent_walls_lack

log = structlog.get_logger()


@asynccontextmanager
async def opened(settings: Settings, *, accept_older: bool = False) -> AsyncIterator[Devices]:
    """Raises Locked if another daemon has this state directory, Unreadable if its state can't be trusted."""
    layout = Layout(settings.state_dir)
    settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock(settings.state_dir), gate_of(settings) as gating:
        journal = open_journal(layout.journal, accept_older=accept_older)
        mngr = mngr_settings(settings)
        agents = await open_agents(mngr)
        store = GitStore(settings.state_dir)
        await store.recover()
        try:
            async with beside() as following:
                redactor, panes = of_this_process(credentials_directory()), Panes(mngr.environment())
                logs = AgentLogs(layout, agents, redactor, panes, following, phrases=phrases(settings))
                try:
                    yield await _devices(settings, journal, agents, store, logs, gating=gating)
                finally:
                    with CancelScope(shield=True):
                        await logs.close()
        finally:
            with CancelScope(shield=True):
                await agents.close()
                await journal.close()


async def _devices(
    settings: Settings, journal: Journal, agents: Agents, store: GitStore, logs: AgentLogs, *, gating: Gating | None
) -> Devices:
    layout, mngr = Layout(settings.state_dir), mngr_settings(settings)
    verifiers = Verifiers(agents, store, settings.state_dir, journal.installation)
    if any(profile.agent_walls != "off" for profile in settings.profiles.values()):
        await agent_walls_lack()
    return Devices(
        journal=journal,
        agents=agents,
        store=store,
        signs=TmuxSigns(mngr.environment()),
        orders=WalledOrders(
            ContractOrders(layout, journal.installation, credentials_directory(), write_advice, gating), layout
        ),
        collector=WorkCollector(agents, Quarantine(store), layout),
        judge=NotingJudge(
            Courts(await opened_judge(store, layout), store, layout, verifiers),
            store,
            layout,
            branch_trials(settings, verifiers),
        ),
        integrator=_integrator(settings, store, layout, verifiers),
        reviser=_reviser(settings, store),
        logs=GatedLogs(logs, gating) if gating is not None else logs,
        gate=gating,
        clearing=_clearing(settings, layout, journal, agents),
        seal=seal,
        leftovers=end_creates,
        mngr=mngr.by_hand,
        verifiers=verifiers,
    )


def branch_trials(settings: Settings, verifiers: ports.Verifiers | None) -> AnyTrials:
    """Trials of branches that are made of a batch's work."""
    store = GitStore(settings.state_dir)
    here = Trials(store, settings.state_dir)
    return BranchTrials(here, store, settings.state_dir, verifiers) if isinstance(verifiers, Verifiers) else here


def _clearing(settings: Settings, layout: Layout, journal: Journal, agents: Agents) -> Clearing:
    kept = KeptAgents(agents, journal.installation, {pool.provider for pool in settings.pools})
    setups = partial(prune, settings.state_dir)
    return RoomForMore(layout, journal, kept, Limits(**settings.keep.model_dump()), prune=setups)


def _integrator(settings: Settings, store: GitStore, layout: Layout, verifiers: Verifiers) -> Integrator:
    integrator: Integrator = BranchIntegrator(store, layout, branch_trials(settings, verifiers))
    if (where := _pull_requests(settings)) is not None:
        files = partial(KeptFiles, layout, of_this_process(credentials_directory()))
        integrator = OfferedForReview(integrator, GitHubPullRequests(where, store, files))
    return TakenByPeople(integrator)


def _reviser(settings: Settings, store: GitStore) -> Reviser:
    where = _pull_requests(settings)
    reviser = BranchReviser(store, where)
    return AmendingReviser(reviser, where) if where is not None else reviser


def _pull_requests(settings: Settings) -> Where | None:
    github = settings.github
    if not github.token:
        return None
    token = partial(credential, credentials_directory(), github.token)
    return Where(github.api_url, token, github.remote, github.repositories, github.base)


def daemon(
    settings: Settings,
    devices: Devices,
    clock: Callable[[], float] = time.time,
    current: Callable[[], Settings] | None = None,
) -> Daemon:
    rhythm = Rhythm(listing=settings.mngr.list_seconds)
    observe = settings.mngr.observe == "always" or (
        # For local agents the files and the tmux server suffice, at no cost; mngr looks at all of them again
        # whenever one changes.
        settings.mngr.observe == "auto" and any(pool.provider != "local" for pool in settings.pools)
    )
    return Daemon(
        devices,
        pool_specs(settings, lifetimes(settings)),
        verify_slots=settings.verify_slots,
        accounts=governing(settings),
        rhythm=rhythm,
        observe=observe,
        rules=lambda: alert_rules((current() if current else settings).alerts),
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
