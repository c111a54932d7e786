"""Spans of attempts and integrations, folded from events."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

import msgspec
import pytest
from hypothesis import settings

from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.effect import Collect, Launch, Release, Verify
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.profile import Profile
from supervisor.model.usage import Usage
from supervisor.observe.traces import genai
from supervisor.observe.traces.fold import MOST_LINKS, Memory, Traces
from supervisor.observe.traces.span import LONGEST_TEXT, MOST_MOMENTS, Span, ids
from tests.flow.test_promises import Promises, tried
from tests.flow.world import INSTALLATION, World
from tests.observe.night import FIXED, LOST, REFUSED, SLOW, a_night
from tests.properties import examples


def spans_of(events: Iterable[ev.Event], memory: Memory | None = None) -> list[Span]:
    traces = Traces(INSTALLATION, memory)
    return [span for event in events for span in traces.hear(event)]


def trace_of(spans: Iterable[Span], *key: object) -> dict[str, Span]:
    return {span.name: span for span in spans if span.ids.trace == ids(INSTALLATION, *key).trace}


def seconds(span: Span) -> float:
    return span.end - span.start


def test_an_attempt_is_told_step_by_step() -> None:
    world = World(local=1).submit("b", 1, profile=Profile("overnight", agent="claude"))
    world.wait(5).do(Launch).wait(100)  # its launch began at once
    key = AttemptKey("b", 1, 1)
    used = ev.UsageCounted(world.now, *key, input=7, output=5, cached=90, model="claude-x", written=3)
    world.happens(used).publish(1, "b").wait(2).do(Collect).wait(30).do(Verify).do(Release)
    trace = trace_of(spans_of(world.events), *key)
    assert list(trace) == ["attempt", "launch", "work", "collect", "verify"]
    root = trace["attempt"]
    assert not root.parent
    assert {span.parent for name, span in trace.items() if name != "attempt"} == {root.ids.span}
    assert len({span.ids.span for span in trace.values()}) == 5
    assert [round(seconds(span)) for span in trace.values()] == [137, 5, 100, 2, 30]
    assert root.attributes["agent_supervisor.job"] == "b.1"
    assert root.attributes["agent_supervisor.outcome"] == "fixed"
    assert root.attributes["agent_supervisor.profile"] == "overnight"
    assert not any(span.problem for span in trace.values())
    work = trace["work"].attributes
    assert work[genai.OPERATION] == "invoke_agent"
    assert work[genai.PROVIDER] == "anthropic"
    assert work[genai.REQUEST_MODEL] == "claude-x"
    assert (work[genai.INPUT], work[genai.CACHE_READ], work[genai.CACHE_WRITTEN], work[genai.OUTPUT]) == (
        97,
        90,
        3,
        5,
    )
    assert all(genai.INPUT not in span.attributes for name, span in trace.items() if name != "work"), "counted once"


def test_each_ending_says_why() -> None:
    found = spans_of(a_night().events)
    for job, why in ((LOST, ""), (SLOW, "not done within 3600 s"), (REFUSED, "as judged")):
        assert why in trace_of(found, "b", job, 1)["attempt"].problem
    assert trace_of(found, "b", LOST, 1)["work"].problem == "it ended without publishing: gone"
    assert trace_of(found, "b", SLOW, 1)["work"].problem == "it exceeded the time limit of its job"
    assert trace_of(found, "b", REFUSED, 1)["verify"].problem == "refused: skip: the test is skipped"
    assert [moment.about for moment in trace_of(found, "b", SLOW, 1)["work"].moments] == ["limit: 429", ""]


def test_an_integration_is_linked_to_the_attempts_whose_work_it_took() -> None:
    [span] = [span for span in spans_of(a_night().events) if span.name == "integrate"]
    assert span.links == (ids(INSTALLATION, "b", FIXED, 1),)
    assert span.attributes["agent_supervisor.branch"] == "supervisor/b"
    assert [moment.about for moment in span.moments] == ["the push was slow."]


def test_links_are_bounded_and_those_left_out_are_counted() -> None:
    jobs = range(1, MOST_LINKS + 11)
    events: list[ev.Event] = []
    for job in jobs:
        key = ("b", job, 1)
        events.append(ev.LaunchStarted(1.0, *key, agent_id="i", agent_name="n", pool="p", provider="local"))
        events.append(ev.WorkCollected(2.0, *key, claim="fixed"))
    ledger = {job: LedgerRow(Fate.MERGED) for job in jobs}
    events += [ev.IntegrationStarted(3.0, "b", 1), ev.IntegrationEnded(4.0, "b", 1, ledger)]
    [span] = spans_of(events)
    assert (len(span.links), span.unlinked) == (MOST_LINKS, 10)


def test_a_partial_integration_is_linked_to_the_jobs_that_were_over() -> None:
    world = World(local=2).submit("b", 2).do(Launch)
    world.publish(1, "b").do(Collect, Verify)
    world.happens(ev.PartialWanted(world.now, "b"))
    world.run("b")
    first, last = (span for span in spans_of(world.events) if span.name == "integrate")
    assert first.attributes["agent_supervisor.partial"] is True
    assert first.links == (ids(INSTALLATION, "b", 1, 1),)
    assert last.attributes["agent_supervisor.partial"] is False


def test_what_agents_wrote_is_bounded_and_printable() -> None:
    world = World(local=1).submit("b", 1).do(Launch)
    for _ in range(2 * MOST_MOMENTS):
        world.happens(ev.JobParked(world.now, "b", 1, 1, question="\x1b[31m" + "x\n" * 10_000))
        world.happens(ev.JobUnparked(world.now, "b", 1, 1))
    world.happens(ev.UsageCounted(world.now, "b", 1, 1, model="m\x00" * 1000))
    world.happens(ev.AgentVanished(world.now, "b", 1, 1, detail="\r" + "y" * 10_000))
    world.run("b")
    work = trace_of(spans_of(world.events), "b", 1, 1)["work"]
    texts = [work.problem, *(moment.about for moment in work.moments), str(work.attributes[genai.REQUEST_MODEL])]
    assert len(work.moments) == MOST_MOMENTS
    assert all(text.isprintable() and len(text) <= LONGEST_TEXT for text in texts)


@pytest.mark.parametrize(
    ("kind", "model", "provider"),
    [("codex", "", "openai"), ("opencode", "gpt-9", "openai"), ("opencode", "", ""), ("claude", "x", "anthropic")],
)
def test_a_provider_is_named_if_it_is_known(kind: str, model: str, provider: str) -> None:
    assert genai.spent(kind, Usage(model=model)).get(genai.PROVIDER, "") == provider


def test_what_began_unseen_is_not_told() -> None:
    events = a_night().events
    begun = next(number for number, event in enumerate(events) if isinstance(event, ev.WorkPublished))
    assert [span.name for span in spans_of(events[begun:])] == ["integrate"]


def check_times(spans: list[Span]) -> None:
    """Nothing takes less than no time, and steps are inside of their attempt, whatever the clock did."""
    assert all(span.end >= span.start for span in spans)
    attempts = [span for span in spans if span.name != "integrate"]
    for _, grouped in groupby(attempts, key=lambda span: span.ids.trace):
        root, *steps = grouped
        assert not root.parent
        assert all(step.parent == root.ids.span for step in steps)
        assert all(root.start <= step.start and step.end <= root.end for step in steps)


class Traced(Promises):
    """Whatever happens, in whatever order: each attempt that is over is told once, whole, and sanely."""

    def teardown(self) -> None:
        super().teardown()
        events = self.world.events
        spans = spans_of(events)
        attempts = [span for span in spans if span.name != "integrate"]
        roots = [span for span in attempts if not span.parent]
        begun = {AttemptKey(e.batch, e.job, e.attempt) for e in events if isinstance(e, ev.LaunchStarted)}
        assert Counter(span.ids for span in roots) == Counter(ids(INSTALLATION, *key) for key in begun)
        check_times(spans)
        check_times(spans_of(replace(e, at=e.at - number % 3 * 1000) for number, e in enumerate(events)))
        started = [e for e in events if isinstance(e, ev.IntegrationStarted | ev.PartialStarted)]
        assert len([span for span in spans if span.name == "integrate"]) <= len(started)
        assert spans == self.remembering_only_what_is_kept()

    def remembering_only_what_is_kept(self) -> list[Span]:
        """The daemon restarts after each few events, and the fold goes on from the file."""
        events, found, kept = self.world.events, [], msgspec.json.encode(Memory())
        for begin in range(0, len(events), 5):
            traces = Traces(INSTALLATION, msgspec.json.decode(kept, type=Memory))
            found += [span for event in events[begin : begin + 5] for span in traces.hear(event)]
            kept = msgspec.json.encode(traces.memory)
        assert msgspec.json.decode(kept, type=Memory) == Memory(), "nothing is remembered of what is over"
        return found


TestTraced = Traced.TestCase
TestTraced.settings = settings(tried, max_examples=examples(1))
