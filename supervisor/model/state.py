"""Everything that the core's decisions depend on: open batches, unreleased agents, pools and the agenda."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from immutables import Map

from supervisor.model.account import UNLIMITED, Account, AccountSpec, Budget
from supervisor.model.agenda import Agenda, Item
from supervisor.model.alert import Alerts
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.event import PoolSpec
from supervisor.model.job import Job
from supervisor.model.pausing import Pausing
from supervisor.model.pool import Pool
from supervisor.model.pressure import Pressure
from supervisor.model.rate import Rate
from supervisor.model.review import Review
from supervisor.model.schedule import Run
from supervisor.model.verifying import Verifying


@dataclass(frozen=True, slots=True)
class State:
    #: this installation's id, part of every agent's id and labels
    installation: str
    batches: Map[str, Batch] = field(default_factory=Map)
    #: every agent that is not yet put away, including those of finished batches
    attempts: Map[AttemptKey, Attempt] = field(default_factory=Map)
    pools: Map[str, Pool] = field(default_factory=Map)
    #: how often each provider may be asked for something new
    rates: Map[str, Rate] = field(default_factory=Map)
    #: by name; one that was never configured or used is not here
    accounts: Map[str, Account] = field(default_factory=Map)
    #: the accounts as last configured
    configured_accounts: tuple[AccountSpec, ...] = ()
    budget: Budget = UNLIMITED
    #: what is left of this machine; None: never looked at
    pressure: Pressure | None = None
    #: the pools as last configured; slots that a person changed since then stay changed
    configured: tuple[PoolSpec, ...] = ()
    agenda: Agenda = field(default_factory=Agenda)
    verifying: Verifying = field(default_factory=Verifying)
    #: what a person should know now, and the facts from which that is decided
    alerts: Alerts = field(default_factory=Alerts)
    #: what happened at the last time of each schedule
    schedules: Map[str, Run] = field(default_factory=Map)
    #: reviews of the branches of batches that are over, by batch
    reviews: Map[str, Review] = field(default_factory=Map)
    #: the number of batches ever submitted
    submitted: int = 0
    #: nothing is launched; running agents may finish
    paused: bool = False
    pause_reason: str = ""
    pausing: Pausing | None = None
    #: a person accepted a state older than what was acknowledged, and has not resumed the queue yet
    is_older: bool = False

    def in_order(self) -> list[Batch]:
        return sorted(self.batches.values(), key=lambda batch: batch.number)

    def with_batch(self, batch: Batch) -> "State":
        return replace(self, batches=self.batches.set(batch.id, batch))

    def with_job(self, batch: str, job: Job) -> "State":
        return self.with_batch(self.batches[batch].with_job(job))

    def with_attempt(self, attempt: Attempt) -> "State":
        return replace(self, attempts=self.attempts.set(attempt.key, attempt))

    def with_pool(self, pool: Pool) -> "State":
        return replace(self, pools=self.pools.set(pool.name, pool))

    def with_account(self, account: Account) -> "State":
        return replace(self, accounts=self.accounts.set(account.name, account))

    def put(self, item: Item, at: float) -> "State":
        return replace(self, agenda=self.agenda.put(item, at))

    def drop(self, *items: Item) -> "State":
        agenda = self.agenda
        for item in items:
            agenda = agenda.drop(item)
        return replace(self, agenda=agenda)

    def attempts_of(self, batch: str) -> Iterator[Attempt]:
        return (attempt for key, attempt in self.attempts.items() if key.batch == batch)
