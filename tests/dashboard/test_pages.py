"""What the pages say, what steering does, and that the stream tells everything once."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from supervisor.adapters.layout import Layout
from supervisor.adapters.logs.store import LogStore
from supervisor.dashboard import cells, live
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.effect import Collect, Launch
from supervisor.model.profile import Profile
from supervisor.observe.snapshot import seal
from tests.agent_clone import commit, git
from tests.control.served import a_repo
from tests.dashboard.generated import BATCH, generated
from tests.dashboard.seen import Seen, seen
from tests.dashboard.test_door import form_key
from tests.flow.world import World
from tests.observe.night import TESTS, a_night
from tests.waiting import until


def a_world(tests: int = 6, slots: int = 4) -> World:
    world = World(local=slots)
    world.now = time.time() - 60
    return world.submit("b", tests, profile=Profile(retries=0, keep_agents="none")).do(Launch)


async def test_each_page_is_there_for_a_batch_in_every_state(tmp_path: Path) -> None:
    world = generated(time.time(), jobs=120, agents=20, minutes=40)
    async with seen(tmp_path, world) as there, there.logged_in() as client:
        jobs = [f"/jobs/{BATCH}.{number}" for number in range(1, 121)]
        pages = ["/", f"/batches/{BATCH}/jobs?kind=failed", f"/batches/{BATCH}/morning", "/batches"]
        for path in [*pages, *jobs, *(f"{job}/peek" for job in jobs[:20])]:
            answer = await client.get(path)
            assert answer.status_code == 200, (path, answer.text[-500:])
            assert "<script>window" not in answer.text, path
            assert "<img" not in answer.text, path
            assert "\u202e" not in answer.text, path


async def test_what_there_is_not_is_said_in_a_sentence(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        for path in ("/batches/zzzzz", "/jobs/b.99", "/jobs/nothing", "/do/nowhere", "/nowhere"):
            answer = await client.get(path)
            assert answer.status_code in (404, 405), path
            assert "That did not work" in answer.text


async def test_a_night_that_is_over_is_shown_with_what_it_brought_and_what_to_review(tmp_path: Path) -> None:
    night = a_night()
    assert night.sealed is not None
    async with seen(tmp_path, night.world, sealed=[seal(night.sealed)]) as there, there.logged_in() as client:
        client.follow_redirects, text = True, ""
        for path in ("/batches/b", "/batches/b/jobs", "/batches/b/morning"):
            text = (await client.get(path)).text
            assert "Review first" in text, path
            assert "First read the doubts about 1 job" in text, path
        assert "supervisor/b" in text
        assert "https://github.example/shop/pull/7" in text
        assert 'href="/batches/b"' in (await client.get("/")).text
        for number in range(1, TESTS + 1):
            answer = await client.get(f"/jobs/b.{number}")
            assert answer.status_code == 200, answer.text[-500:]
        async with asyncio.timeout(20):
            assert "event: over" in (await client.get("/batches/b/live")).text


async def steered(client: httpx.AsyncClient, path: str, **more: str) -> httpx.Response:
    data = {"form_key": await form_key(client), **more}
    return await client.post(path, data=data, headers={"Referer": "http://localhost/batches/b?x=1"})


async def test_steering_does_what_the_api_does_with_the_author_of_the_session(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in("ann") as client:
        assert (await steered(client, "/do/queue/pause")).headers["location"] == "/batches/b?said=queue-pause"
        assert there.state.paused
        assert (await steered(client, "/do/queue/pause")).headers["location"] == "/batches/b?said=nothing"
        await steered(client, "/do/queue/resume")
        assert not there.state.paused
        await steered(client, "/do/batch/b/pause")
        assert there.state.batches["b"].paused
        await steered(client, "/do/batch/b/resume")
        await steered(client, "/do/job/b.6/cancel")
        assert there.state.batches["b"].job(6).state == "cancelled"
        await steered(client, "/do/job/b.6/retry")
        assert there.state.batches["b"].job(6).state == "queued"
        await steered(client, "/do/pool/local/slots", slots="9")
        assert there.state.pools["local"].slots == 9
        await steered(client, "/do/batch/b/cancel")
        assert there.state.batches["b"].state == "cancelled"
        records = await there.journal.read(limit=1000)
        authors = {getattr(record.event, "author", None) for record in records if record.seq > 12}
        assert authors - {None, "", "ann"} == set()
        assert "ann" in authors


async def test_what_can_not_be_done_is_refused_with_the_apis_words(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        for path, slots, status in (
            ("/do/pool/nowhere/slots", "3", 404),
            ("/do/pool/local/slots", "-1", 409),
            ("/do/pool/local/slots", "9" * 40, 409),
            ("/do/batch/nowhere/pause", "", 404),
            ("/do/batch/b/sell", "", 404),
        ):
            assert (await steered(client, path, slots=slots)).status_code == status, path


async def test_nobody_is_sent_elsewhere_after_steering(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        data = {"form_key": await form_key(client)}
        for referer in (
            "http://evil.example//evil.example/x",
            "//evil.example",
            "",
            "http://x/\\evil",
            "javascript:x",
        ):
            answer = await client.post("/do/queue/pause", data=data, headers={"Referer": referer})
            assert re.fullmatch(r"/[^/\\]?.*\?said=[a-z-]+", answer.headers["location"]), referer
            assert not answer.headers["location"].startswith(("//", "/\\"))


async def test_words_are_put_on_a_page_by_no_link(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        assert "Your session" not in (await client.get("/?said=Your session is over")).text
        assert "The queue is paused" in (await client.get("/?said=queue-pause")).text


# --- what an agent changed


async def test_a_jobs_commits_are_shown_with_what_they_change(tmp_path: Path) -> None:
    repo = a_repo(tmp_path)
    base = git(repo, "rev-parse", "HEAD")
    commit(repo, "FIX_IMPL: a <b>total</b>\n\nIt was cut.", shop__py="total = 1 < 2\n")
    head = git(repo, "rev-parse", "HEAD")
    world = World(local=1)
    submitted = ev.BatchSubmitted(world.now, "b", str(repo), base, ("tests/test_it.py::test_one",), Profile())
    world.happens(submitted).do(Launch).publish(1, "b")
    effect = world.pending(Collect)[0]
    world.answer(effect, ev.WorkCollected(world.now, "b", 1, 1, "fixed", head=head, commits=1))
    async with seen(tmp_path, world) as there, there.logged_in() as client:
        await there.desk.store.snapshot(repo, head, "b")
        text = (await client.get("/jobs/b.1")).text
        assert "FIX_IMPL: a &lt;b&gt;total&lt;/b&gt;" in text
        assert '<span class="plus">+total = 1 &lt; 2</span>' in text
        assert "It was cut." in text


# --- the log of an agent


async def test_a_log_is_live_and_goes_on_where_a_browser_was(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        store, key = LogStore(Layout(tmp_path / "state")), AttemptKey("b", 1, 1)

        def says(text: str) -> None:
            row = {"at": "2026-01-05T03:20:00Z", "attempt": 1, "source": "x", "kind": "say", "text": text, "data": {}}
            store.append(key, json.dumps(row).encode() + b"\n")

        says("first <b>word</b>")
        place = await _log(client, "first &lt;b&gt;word&lt;/b&gt;", "")
        says("second word")
        assert await _log(client, "second word", "first", place) > place


async def _log(client: httpx.AsyncClient, wanted: str, unwanted: str, last: int = 0) -> int:
    """The place in the log after a message that says this, and not that."""
    headers = {"Last-Event-ID": str(last)} if last else {}
    told, place = "", 0
    async with asyncio.timeout(20), client.stream("GET", "/jobs/b.1/log?attempt=1", headers=headers) as answer:
        async for line in answer.aiter_lines():
            place = int(line[4:]) if line.startswith("id: ") else place
            told += line
            if not line and wanted in told:
                assert not unwanted or unwanted not in told
                return place
    raise AssertionError("the stream ended")


# --- the stream


@asynccontextmanager
async def listening(
    client: httpx.AsyncClient, after: int, last: int | None = None
) -> AsyncIterator[AsyncIterator[str]]:
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    async with client.stream("GET", f"/batches/b/live?after={after}", headers=headers) as answer:
        assert answer.status_code == 200
        yield answer.aiter_lines()


async def heard(there: Seen, client: httpx.AsyncClient, last: int, upto: int) -> tuple[list[int], int]:
    """The events told of by messages until the event `upto`, and the id of the last message."""
    told: list[int] = []
    async with asyncio.timeout(20), listening(client, 0, last) as lines:
        async for line in lines:
            told += [int(seq) for seq in re.findall(r'<li class="[a-z]*" id="e(\d+)"', line)]
            if line.startswith("id: "):
                last = int(line[4:])
            if not line and last >= upto:
                return told, last
    raise AssertionError("the stream ended")


async def last_seq(there: Seen) -> int:
    return (await there.journal.read(limit=1, newest=True))[-1].seq


async def test_who_lost_the_connection_is_told_what_was_missed_and_nothing_twice(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        start = await last_seq(there)
        for at in range(3):
            there.happens(ev.JobParked(there.desk.clock(), "b", 1, 1, question=f"may I? {at}"))
            there.happens(ev.JobUnparked(there.desk.clock(), "b", 1, 1))
        await until("they are written", lambda: _is_past(there, start + 6))
        first, last = await heard(there, client, start, start + 6)
        there.happens(ev.JobParked(there.desk.clock(), "b", 2, 1, question="may I?"))
        await until("it is written", lambda: _is_past(there, start + 7))
        second, _ = await heard(there, client, last, start + 7)
        assert sorted(first) == list(range(start + 1, start + 7))
        assert second == [start + 7]


async def _is_past(there: Seen, seq: int) -> bool:
    return await last_seq(there) >= seq


async def test_the_stream_tells_which_cells_changed(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        start = await last_seq(there)
        async with asyncio.timeout(20), listening(client, start) as lines:
            there.happens(ev.JobParked(there.desk.clock(), "b", 3, 1, question="may I?"))
            async for line in lines:
                if line == 'data: [[3, "P"]]':
                    return
    raise AssertionError("the stream ended")


async def test_who_missed_a_night_is_told_all_cells_at_once(tmp_path: Path) -> None:
    world = generated(time.time(), jobs=600, agents=60, minutes=60)
    assert len(world.events) > 2 * live.MOST_MISSED
    async with seen(tmp_path, world) as there, there.logged_in() as client, asyncio.timeout(20):
        path, last = f"/batches/{BATCH}/live?after=1", await last_seq(there)
        drawn, told = "", 0
        async with client.stream("GET", path) as answer:
            async for line in answer.aiter_lines():
                drawn = line if line.startswith('data: "') else drawn
                told += line.startswith("id: ")
                if line == f"id: {last}":
                    break
        assert json.loads(drawn.removeprefix("data: ")) == cells.letters(there.state.batches[BATCH])
        assert told < 5


async def test_a_stopping_daemon_waits_for_no_stream(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there:
        client = there.browser()
        await client.get("/login", params={"token": there.token()})
        began = time.monotonic()
        stream = client.stream("GET", "/batches/b/live")
        answer = await stream.__aenter__()
        assert answer.status_code == 200
    assert time.monotonic() - began < 5
    await client.aclose()
