"""What `/metrics` says, read by a strict parser and by promtool's rules."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics

from supervisor.flow.verifying import slots_of
from supervisor.model import event as ev
from supervisor.model.effect import Collect, Launch, Release, Verify
from supervisor.model.evidence import Evidence
from supervisor.model.profile import Profile
from supervisor.observe.metrics.exposition import expose
from supervisor.observe.metrics.gauges import Gauges
from supervisor.observe.metrics.meters import Meters
from tests.flow.world import World
from tests.observe.metrics.lint import families, problems

DISK = {"state_bytes": 10, "free_bytes": 1000, "more": False}


class Metered:
    """A world with meters, as the daemon has them."""

    def __init__(self, world: World) -> None:
        self.world, self.meters = world, Meters()
        self.meters.begin(world.state)
        world.watchers.append(lambda before, event: self.meters.watch(world.state, [event]))

    @property
    def text(self) -> str:
        world = self.world
        gauges = Gauges(world.state, world.now, "0.1", {"modal": "refused"}, strays=2, disk=DISK)
        return expose(gauges, self.meters)[0].decode()

    def value(self, name: str, **labels: str) -> float:
        found = [s for f in families(self.text) for s in f.samples if s.name == f"agent_supervisor_{name}"]
        [sample] = [each for each in found if each.labels == labels]
        return sample.value


def a_night() -> Metered:
    """Something of everything has happened."""
    metered = Metered(World(local=3, modal=0, verify_slots=1))
    world = metered.world.submit(tests=6).submit("held", 2)
    world.happens(ev.BatchPaused(world.now, "held", author="ann")).wait(10).do(Launch).wait(100)
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, input=5, output=2, cached=1))
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, input=8, output=2, cached=1))
    world.happens(ev.AccountWindowSeen(world.now, "claude", 10_080, 0.25, world.now + 86_400, world.now))
    world.publish(1).vanish(2).wait(5).do(Collect, Launch).wait(50)
    effect = world.pending(Verify)[0]
    verified = ev.WorkVerified(
        world.now,
        *effect.keys[0],
        outcome="fixed",
        verification="verified",
        doubts=("a", "b"),
        evidence=Evidence(runs=9, saved=4),
    )
    world.answer(effect, verified)
    metered.meters.performed(effect, verified, 50.0)
    metered.meters.lag.observe(0.001)
    metered.meters.watch(world.state, [ev.LaunchFailed(world.now, "b", 6, 1, reason="provider")])
    return metered


def test_what_happens_is_counted() -> None:
    night = a_night()
    assert night.value("jobs_ended_total", outcome="fixed") == 1
    assert night.value("tokens_total", kind="input") == 8
    assert night.value("tokens_total", kind="cached") == 1
    assert night.value("doubts_total") == 2
    assert night.value("verifications_total", verdict="verified") == 1
    assert night.value("verification_runs_total", by="own") == 5
    assert night.value("verification_runs_total", by="common") == 4
    assert night.value("pauses_total", cause="batch-paused") == 1
    assert night.value("events_total", kind="agent-vanished") == 1
    assert night.value("launches_total", pool="local") == len(night.world.told(ev.LaunchStarted))
    assert night.value("device_call_duration_seconds_count", operation="verify", result="ok") == 1


def test_stages_are_measured_each_by_its_own_time() -> None:
    night = a_night()
    for stage, seconds in {"launching": 3 * 10, "working": 2 * 100, "collecting": 2 * 5, "verifying": 50}.items():
        assert night.value("stage_duration_seconds_sum", stage=stage) == seconds, stage
    assert night.value("stage_duration_seconds_count", stage="queued") == len(night.world.told(ev.LaunchStarted))
    night.world.cancel(4)
    night.world.happens(ev.JobCancelled(night.world.now, "b", 5), ev.JobCancelled(night.world.now, "b", 6))


def test_an_integration_is_a_stage() -> None:
    metered = Metered(World(local=1))
    metered.world.submit(tests=1).run()
    assert metered.value("stage_duration_seconds_count", stage="integrating") == 1
    assert metered.value("ledger_rows_total", fate="rescued") == 1


def test_what_is_is_read_from_the_state() -> None:
    night = a_night()
    world = night.world
    assert night.value("pool_slots", pool="local") == 3
    assert night.value("pool_slots_in_use", pool="local") == world.pool().busy
    assert night.value("batches_held", cause="batch-paused") == 1
    assert night.value("batches_held", cause="window") == 0
    assert night.value("provider_up", provider="modal") == 0
    assert night.value("provider_up", provider="local") == 1
    assert night.value("verify_slots") == slots_of(world.state)
    assert night.value("queue_oldest_age_seconds") == 165
    assert night.value("agents_stray") == 2
    assert night.value("state_directory_bytes") == 10
    assert sum(s.value for f in families(night.text) if f.name == "agent_supervisor_jobs" for s in f.samples) == 8
    world.happens(ev.QueuePaused(world.now, author="ann"))
    assert (night.value("queue_paused"), night.value("batches_held", cause="queue-paused")) == (1, 2)


def test_accounts_say_what_they_serve_and_why_not() -> None:
    night = a_night()
    name = next(iter(night.world.state.accounts))
    account = night.world.state.accounts[name]
    assert night.value("account_agents_limit", account=name) == account.most
    assert night.value("account_agents", account=name) == account.busy > 0
    assert night.value("account_paused", account=name, reason="limit") == 0
    assert night.value("account_tokens_total", account=name, kind="input") == 8
    assert night.value("account_window_used_ratio", account=name, window="7d") == 0.25


def test_what_agents_say_of_their_tokens_is_counted_once_over_a_restart() -> None:
    night = a_night()
    meters = Meters()
    meters.begin(night.world.state)
    attempt = next(key for key, each in night.world.state.attempts.items() if each.usage.tokens)
    usage = night.world.state.attempts[attempt].usage
    meters.watch(night.world.state, [ev.UsageCounted(0.0, *attempt, input=usage.input + 3, output=2, cached=1)])
    text = expose(Gauges(night.world.state, 0.0), meters)[0].decode()
    assert 'agent_supervisor_tokens_total{kind="input"} 3.0' in text
    assert 'agent_supervisor_tokens_total{kind="output"} 0.0' in text


def test_a_stage_that_the_last_daemon_began_goes_on() -> None:
    world = World(local=1).submit(tests=1).do(Launch).wait(100)
    metered = Metered(world)
    world.publish()
    assert metered.value("stage_duration_seconds_sum", stage="working") == 100


def test_the_linter_finds_nothing() -> None:
    assert list(problems(a_night().text)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# HELP a_ms x\n# TYPE a_ms gauge\na_ms 1\n", "not a base unit"),
        ("# TYPE a gauge\na 1\n", "no help"),
        ("# HELP a_total x\n# TYPE a_total gauge\na_total 1\n", "only counters"),
        ("# HELP aB x\n# TYPE aB gauge\naB 1\n", "lower case"),
        ("# HELP a_gauge x\n# TYPE a_gauge gauge\na_gauge 1\n", "type is in its name"),
        ("# HELP a x\n# TYPE a gauge\na 1\na 2\n", "twice"),
    ],
)
def test_the_linter_would_find_it(text: str, found: str) -> None:
    assert any(found in problem for problem in problems(text))


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_finds_nothing() -> None:
    ran = subprocess.run(
        ["promtool", "check", "metrics"], input=a_night().text, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


def test_openmetrics_is_given_to_who_asks_for_it() -> None:
    night = a_night()
    text, content_type = expose(
        Gauges(night.world.state, night.world.now), night.meters, "application/openmetrics-text; version=1.0.0"
    )
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert text.decode().endswith("# EOF\n")
    read = openmetrics(text.decode())  # type: ignore[no-untyped-call]
    assert {family.name for family in read} >= {"agent_supervisor_jobs"}


def test_no_label_grows_with_the_work() -> None:
    """Batches, jobs, agents and repositories are ids, and have no place in a label."""
    small, large = a_night(), a_night()
    for number in range(20):
        large.world.submit(f"more{number}", 50, profile=Profile(name=f"p{number}"))
    large.world.do(Launch).do(Release)
    series = [{re.sub(r" .*", "", line) for line in each.text.splitlines()} for each in (small, large)]
    assert series[0] == series[1]


def test_the_docs_name_every_metric() -> None:
    """`docs/metrics.md` says what to watch; the reference is made from this text."""
    page = Path(__file__).parents[3] / "docs" / "metrics.md"
    named = set(re.findall(r"agent_supervisor_[a-z_]+", page.read_text()))
    known = {sample.name for family in families(a_night().text) for sample in family.samples}
    known |= {family.name for family in families(a_night().text)}
    assert named <= known
