"""A collector is told of each attempt once, whatever fails and whoever restarts; and nobody waits for it."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.lowlevel import checkpoint

from supervisor.adapters.alerts.delivery import Undelivered
from supervisor.adapters.memory_journal import MemoryJournal
from supervisor.adapters.telemetry import collector as collector_module
from supervisor.adapters.telemetry import export as exporting
from supervisor.adapters.telemetry import otlp
from supervisor.adapters.telemetry.collector import Collector
from supervisor.adapters.telemetry.export import STALE_SECONDS, Export, Protocols
from supervisor.errors import Misconfigured
from supervisor.model import event as ev
from supervisor.model.profile import Profile
from supervisor.model.state import State
from supervisor.observe.stream import Stream
from supervisor.observe.traces.span import Moment, Span, ids
from supervisor.tasks import beside
from tests.telemetry.collecting import Collecting, attributes, collecting
from tests.waiting import until

SPANS = 5


def life(job: int, at: float = 0.0) -> list[ev.Event]:
    """All events of a job that ends well."""
    key, at = ("b", job, 1), at or time.time()
    return [
        ev.LaunchStarted(at, *key, agent_id="i", agent_name="n", pool="local", provider="local"),
        ev.LaunchSucceeded(at + 1, *key, host_id="here"),
        ev.UsageCounted(at + 2, *key, input=9, output=3, cached=1, model="claude-x"),
        ev.WorkPublished(at + 2, *key),
        ev.CollectStarted(at + 2, *key),
        ev.WorkCollected(at + 3, *key, claim="fixed"),
        ev.VerifyStarted(at + 3, *key),
        ev.AgentReleased(at + 3, *key),
        ev.WorkVerified(at + 4, *key, outcome="fixed", verification="verified"),
        ev.JobEnded(at + 4, "b", job, outcome="fixed"),
    ]


class Wire:
    """A journal that is followed, and what is written to it."""

    def __init__(self, folder: Path) -> None:
        self.file, self.journal = folder / "telemetry.json", MemoryJournal()
        self.stream = Stream(self.journal, checkpoint)
        self.counted: dict[str, int] = {"told": 0, "dropped": 0}

    async def writes(self, *events: ev.Event) -> None:
        await self.journal.append(events)
        self.stream.notify(State(installation="x"), events)

    def count(self, spans: int, result: str) -> None:
        self.counted[result] += spans

    async def has_kept_all(self) -> bool:
        """What it is done with; before, a restart may repeat the last request."""
        [last] = await self.journal.read(limit=1, newest=True)
        return bool(json.loads(self.file.read_bytes())["seq"] == last.seq)

    @asynccontextmanager
    async def running(self, collector: Collecting, **headers: str) -> AsyncIterator[Export]:
        values = {name: (lambda value=value: value) for name, value in headers.items()}
        to = Collector(lambda: collector.url, values)
        protocols = Protocols(lambda spans: otlp.request(spans, {"service.name": "s"}, "0"), otlp.rejected)
        export = Export(
            to, protocols, self.journal, self.stream, self.file, time.time, self.count, gather_seconds=0.05
        )
        async with beside() as tasks:
            tasks.start_soon(export.run)
            await until("it follows", self.file.exists)
            yield export


@pytest.fixture
def wire(tmp_path: Path) -> Wire:
    return Wire(tmp_path / "state")


@pytest.fixture
def in_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(collector_module, "TIMEOUT_SECONDS", 0.3)


async def test_it_is_told_once_what_ended(wire: Wire) -> None:
    with collecting() as collector:
        async with wire.running(collector, authorization="Bearer s3cret") as export:
            await wire.writes(ev.BatchSubmitted(1.0, "b", "/repo", "base", ("t",), Profile(agent="claude")), *life(1))
            await until("it is told", lambda: export.told.spans == SPANS)
    [heard] = collector.heard
    assert heard.path == "/v1/traces"
    assert heard.headers["authorization"] == "Bearer s3cret"
    assert heard.headers["content-type"] == "application/x-protobuf"
    assert attributes(heard.of.resource) == {"service.name": "s"}
    root, _, work, _, _ = heard.spans
    assert attributes(root)["agent_supervisor.job"] == "b.1"
    assert attributes(work)["gen_ai.usage.input_tokens"] == 10
    assert work.parent_span_id == root.span_id
    assert (work.end_time_unix_nano - work.start_time_unix_nano) / 1e9 == pytest.approx(1, abs=1e-3)
    assert wire.counted == {"told": SPANS, "dropped": 0}


async def test_a_restart_goes_on_in_the_middle_of_an_attempt(wire: Wire) -> None:
    first, second = life(1), life(2)
    with collecting() as collector:
        async with wire.running(collector) as export:
            await wire.writes(*first, *second[:4])
            await until("the first is told", lambda: export.told.spans == SPANS)
            await until("it is kept", wire.has_kept_all)
        await wire.writes(*second[4:])
        async with wire.running(collector) as export:
            await until("the second is told", lambda: export.told.spans == SPANS)
            await until("it is kept", wire.has_kept_all)
        async with wire.running(collector) as export:
            await wire.writes(*life(3))
            await until("the third is told", lambda: export.told.spans == SPANS)
    jobs = [attributes(span)["agent_supervisor.job"] for span in collector.spans]
    assert jobs == ["b.1"] * SPANS + ["b.2"] * SPANS + ["b.3"] * SPANS
    assert len({span.span_id for span in collector.spans}) == 3 * SPANS


async def test_a_request_that_may_have_been_taken_is_repeated_with_the_same_ids(wire: Wire) -> None:
    """The daemon is killed before the answer came."""
    with collecting() as collector:
        collector.answer(0)
        async with wire.running(collector):
            await wire.writes(*life(1))
            await until("it is asked", lambda: collector.heard)
        async with wire.running(collector) as export:
            await until("it is told", lambda: export.told.spans == SPANS)
    lost, repeated = collector.heard
    assert [span.SerializeToString() for span in lost.spans] == [span.SerializeToString() for span in repeated.spans]


async def test_a_new_collector_is_not_told_of_the_past(wire: Wire) -> None:
    await wire.writes(*life(1))
    with collecting() as collector:
        async with wire.running(collector) as export:
            await wire.writes(*life(2))
            await until("it is told", lambda: export.told.spans == SPANS)
    assert {attributes(span)["agent_supervisor.job"] for span in collector.spans} == {"b.2"}


async def test_a_place_that_cannot_be_read_or_is_ahead_of_the_journal_is_the_present(wire: Wire) -> None:
    wire.file.parent.mkdir()
    for place in (b"{", b'{"seq":"x"}', b'{"seq":99999}'):
        wire.file.write_bytes(place)
        with collecting() as collector:
            async with wire.running(collector) as export:
                await until("it begins anew", lambda: wire.file.read_bytes() != place)  # noqa: B023
                await wire.writes(*life(1))
                await until("it is told", lambda: export.told.spans == SPANS)


@pytest.mark.usefixtures("in_haste")
async def test_what_waits_for_a_collector_that_is_down_is_told_later(wire: Wire) -> None:
    with collecting() as collector:
        collector.answer(503, 429, 0)
        async with wire.running(collector) as export:
            await wire.writes(*life(1))
            await until("it fails", lambda: export.told.problem)
            await wire.writes(*(event for job in range(2, 200) for event in life(job)))
            await until("all are told", lambda: export.told.spans == 199 * SPANS)
            assert export.told.data["problem"] is None
    assert max(len(heard.spans) for heard in collector.heard) <= exporting.FULL
    assert wire.counted == {"told": 199 * SPANS, "dropped": 0}


@pytest.mark.usefixtures("in_haste")
async def test_what_is_refused_or_stale_is_dropped_and_counted(wire: Wire) -> None:
    with collecting() as collector:
        collector.answer(400)
        async with wire.running(collector) as export:
            await wire.writes(*life(1))
            await until("it is refused", lambda: export.told.dropped == SPANS)
            assert export.told.problem == "it answered 400"
            collector.answer(503)
            await wire.writes(*life(2, at=time.time() - STALE_SECONDS - 60))
            await until("it is dropped", lambda: export.told.dropped == 2 * SPANS)
            collector.reject(2, "too\nlong" * 1000)
            await wire.writes(*life(3))
            await until("a part is taken", lambda: export.told.spans == SPANS - 2)
            assert export.told.problem.startswith("it rejected 2 of 5 spans: too longtoo")
            assert len(export.told.problem) <= 300
            await wire.writes(*life(4))
            await until("all are taken", lambda: not export.told.problem)
    assert wire.counted == {"told": 2 * SPANS - 2, "dropped": 2 * SPANS + 2}


@pytest.mark.usefixtures("in_haste")
async def test_nothing_listens(wire: Wire) -> None:
    async with wire.running(Collecting(url="http://127.0.0.1:9")) as export:
        await wire.writes(*life(1))
        await until("it says so", lambda: export.told.problem == "it can't be reached: ConnectError")


@pytest.mark.parametrize("url", ["http://[", "not a url", "http://\x00", "ftp://s3cret@127.0.0.1"])
async def test_a_place_that_cannot_be_is_said_without_it(url: str) -> None:
    with pytest.raises(Undelivered) as failed:
        await Collector(lambda: url, {}).take(b"")
    assert failed.value.again is not None
    assert failed.value.message.startswith(("its URL or a header is not valid", "it can't be reached: "))


@pytest.mark.parametrize("header", ["a\nb: s3cret", "s3crét…", "\x00s3cret"])
async def test_a_header_that_cannot_be_is_said_without_it(header: str) -> None:
    with collecting() as collector, pytest.raises(Undelivered) as failed:
        await Collector(lambda: collector.url, {"authorization": lambda: header}).take(b"")
    assert failed.value.again is not None
    assert failed.value.message.startswith(("its URL or a header is not valid", "it can't be reached: "))
    assert collector.heard == []


async def test_a_header_that_is_not_there_is_waited_for() -> None:
    def absent() -> Any:
        raise Misconfigured("the variable OTLP_KEY is not set", hint="")

    with pytest.raises(Undelivered, match="OTLP_KEY is not set"):
        await Collector(lambda: "http://127.0.0.1:9", {"x-key": absent}).take(b"")


@pytest.mark.parametrize("said", ["", "/", "/v1/traces", "/v1/traces/"])
async def test_an_endpoint_is_named_with_or_without_its_path(said: str) -> None:
    with collecting() as collector:
        await Collector(lambda: collector.url + said, {}).take(otlp.request([], {}, "0"))
    assert [heard.path for heard in collector.heard] == ["/v1/traces"]


def test_an_answer_in_other_words_is_one() -> None:
    assert otlp.rejected(b"<html>ok</html>") == (0, "")
    assert otlp.rejected(b"") == (0, "")


def test_secrets_are_masked_wherever_words_are() -> None:
    span = Span(
        "work", ids("i"), 0.0, 1.0, attributes={"a": "s3cret"}, problem="s3cret", moments=(Moment(0, "m", "s3cret"),)
    )
    written = otlp.request([span], {}, "0", lambda text: text.replace("s3cret", "****"))
    assert b"s3cret" not in written
    assert written.count(b"****") == 3
