"""The API over a real socket: what it shows, what it changes, and how it refuses."""

import asyncio
import getpass
import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supervisor.control.client import Answered, Client
from supervisor.control.server import listening
from supervisor.errors import Locked, Misconfigured, Unreachable
from supervisor.model import event as ev
from tests.agent_clone import commit
from tests.control.served import Served, served
from tests.waiting import until

TESTS = ("tests/test_it.py::test_one", "tests/test_it.py::test_two[a b]", "tests/test_it.py::test_two[c]")


def reading(path: str, **query: object) -> Callable[[Client], dict[str, Any]]:
    return lambda client: client.get(path, **query)


def saying(path: str, body: dict[str, Any] | None = None) -> Callable[[Client], dict[str, Any]]:
    return lambda client: client.post(path, body)


async def test_a_batch_from_submit_to_sealed(tmp_path: Path) -> None:
    """Its jobs and its ledger each add up to all of its tests, and stay readable when it has left memory."""
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        running = (await api.call(reading(f"/v1/batches/{batch}")))["batch"]
        assert running["state"] == "running"
        assert running["jobs"] == {
            "total": 3,
            "queued": 0,
            "held": 0,
            "launching": 0,
            "running": 3,
            "parked": 0,
            "collecting": 0,
            "verifying": 0,
            "done": 0,
            "cancelled": 0,
        }
        api.player.outcomes = {TESTS[0]: "fixed", TESTS[1]: "clean", TESTS[2]: "blocked"}
        await api.finish(batch)
        await until("it is sealed", lambda: batch not in api.loop.state.batches)
        done = (await api.call(reading(f"/v1/batches/{batch[:4]}")))["batch"]
        assert (done["state"], done["branch"]) == ("finished", f"supervisor/{batch}")
        assert {key: count for key, count in done["outcomes"].items() if count} == {
            "fixed": 1,
            "clean": 1,
            "blocked": 1,
        }
        assert sum(done["ledger"].values()) == done["jobs"]["total"] == done["jobs"]["done"] == 3
        rows = (await api.call(reading(f"/v1/batches/{batch}/jobs")))["rows"]
        assert [row["test"] for row in rows] == list(TESTS)
        assert [row["ledger"] for row in rows] == ["merged"] * 3
        assert (await api.call(reading(f"/v1/jobs/{batch}.2")))["job"]["outcome"] == "clean"


async def test_a_job_that_was_cancelled_untouched_is_counted_as_cancelled(tmp_path: Path) -> None:
    async with served(tmp_path, slots=0) as api:
        batch = await api.submit(*TESTS)
        await api.call(saying(f"/v1/batches/{batch}/cancel"))
        await until("it is sealed", lambda: not api.loop.state.batches)
        found = (await api.call(reading(f"/v1/batches/{batch}")))["batch"]
        assert found["jobs"]["cancelled"] == found["outcomes"]["cancelled"] == found["ledger"]["cancelled"] == 3
        rows = (await api.call(reading(f"/v1/batches/{batch}/jobs")))["rows"]
        assert {(row["state"], row["outcome"], row["ledger"]) for row in rows} == {("cancelled",) * 3}


async def test_what_is_said_twice_is_no_news_the_second_time(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(TESTS[0], batch="k3f9x")
        for path, body in {
            f"/v1/batches/{batch}/pause": None,
            f"/v1/batches/{batch}/resume": None,
            "/v1/pause": {"reason": "lunch"},
            "/v1/resume": None,
            "/v1/drain": None,
            f"/v1/jobs/{batch}.1/cancel": None,
        }.items():
            assert (await api.call(saying(path, body)))["changed"] is True, path
            assert (await api.call(saying(path, body)))["changed"] is False, path
        slots = {"slots": 9}
        assert [(await api.call(lambda c: c.put("/v1/pools/local/slots", slots)))["changed"] for _ in "12"] == [
            True,
            False,
        ]
        assert (await api.call(saying("/v1/reload")))["changed"] is False


async def test_the_same_submission_twice_is_one_batch(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        assert await api.submit(TESTS[0], batch="k3f9x") == await api.submit(TESTS[0], batch="k3f9x") == "k3f9x"
        assert len(api.loop.state.batches) == 1


async def test_a_submission_that_is_refused_leaves_nothing_and_changes_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.submit(TESTS[0], batch="k3f9x")
        before = sorted((tmp_path / "state").rglob("*"))
        commit(api.repo, "second", more__txt="more")
        for refused in ({"batch": "k3f9x"}, {"batch": "fresh", "role": "writer"}, {"role": "writer"}):
            with pytest.raises(Answered) as answered:
                await api.submit(TESTS[0], **refused)
            assert answered.value.exit_code == 4
        assert sorted((tmp_path / "state").rglob("*")) == before


async def test_every_mutation_knows_its_author(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(TESTS[0])
        await api.call(saying(f"/v1/batches/{batch}/pause"))
        authors = [
            r.event.author
            for r in await api.journal.read()
            if isinstance(r.event, ev.BatchSubmitted | ev.BatchPaused)
        ]
        assert authors == [getpass.getuser()] * 2


async def test_ids_may_be_shortened_while_they_are_unique(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.submit(TESTS[0], batch="kaaaa")
        await api.submit(TESTS[0], batch="kabbb")
        assert (await api.call(reading("/v1/batches/kaa")))["batch"]["id"] == "kaaaa"
        assert (await api.call(reading("/v1/jobs/kab.1")))["job"]["id"] == "kabbb.1"
        with pytest.raises(Answered, match="matches several batches: kaaaa, kabbb") as ambiguous:
            await api.call(reading("/v1/batches/ka"))
        assert ambiguous.value.exit_code == 4


@pytest.mark.parametrize(
    ("path", "exit_code", "says"),
    [
        ("/v1/batches/zzz", 5, "there is no batch zzz"),
        ("/v1/jobs/zzz", 5, "is not a job"),
        ("/v1/jobs/kaaaa.0", 5, "has no integrator"),
        ("/v1/jobs/kaaaa.-1", 5, "is not a job"),
        ("/v1/jobs/kaaaa.7", 5, "has no job 7"),
        ("/v1/nowhere", 2, "Not Found"),
        ("/v1/events?after=x", 2, "after: "),
        ("/v1/checkout?repo=/nowhere", 5, "there is no directory /nowhere"),
        ("/v1/checkout?repo=/&profile=moon", 5, "there is no profile moon"),
        ("/v1/checkout?repo=/&profile=", 5, "there is no profile ''"),
    ],
)
async def test_a_refusal_says_why_and_what_to_do(tmp_path: Path, path: str, exit_code: int, says: str) -> None:
    async with served(tmp_path) as api:
        await api.submit(TESTS[0], batch="kaaaa")
        with pytest.raises(Answered, match=says) as refused:
            await api.call(reading(path))
        assert refused.value.exit_code == exit_code
        assert refused.value.hint


async def test_a_commit_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        with pytest.raises(Answered, match=r"commit 000000000000 of .* can't be fetched") as refused:
            await api.submit(TESTS[0], base="0" * 40)
        assert refused.value.exit_code == 4
        assert not api.loop.state.batches


async def test_ten_thousand_tests_are_one_request(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        tests = [f"tests/end_to_end/test_everything.py::TestIt::test_number_{number}" for number in range(10_000)]
        batch = await api.submit(*tests)
        rows = (await api.call(reading(f"/v1/batches/{batch}/jobs")))["rows"]
        assert [row["test"] for row in rows] == tests


# --- events


async def test_events_can_be_followed_from_any_number_without_a_gap_or_a_repeat(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="fixed") as api:
        first = await api.submit(*TESTS)
        await until("it is sealed", lambda: first not in api.loop.state.batches)
        written = [r.seq for r in await api.journal.read()]

        def followed(client: Client) -> list[int]:
            found: list[int] = []
            for event in client.events(written[3]):
                found.append(event["seq"])
                if event["kind"] == "batch-sealed" and event["batch"] != first:
                    break
            return found

        following = asyncio.create_task(api.call(followed))
        second = await api.submit(*TESTS)
        found = await following
        assert second in {e.event.batch for e in await api.journal.read() if isinstance(e.event, ev.BatchSealed)}
        assert found == list(range(written[3] + 1, found[-1] + 1))


async def test_last_event_id_wins_over_the_address(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.submit(TESTS[0])
        reader, writer = await asyncio.open_unix_connection(api.socket)
        writer.write(b"GET /v1/events/stream?after=0 HTTP/1.1\r\nHost: d\r\nLast-Event-ID: 2\r\n\r\n")
        line = b""
        while not line.startswith(b"id: "):
            line = await reader.readline()
        assert line == b"id: 3\n"
        writer.close()


async def test_events_of_a_large_batch_stay_small(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        rows = (await api.call(reading("/v1/events", batch=batch)))["rows"]
        submitted = next(row for row in rows if row["kind"] == "batch-submitted")
        assert (submitted["jobs"], submitted["profile"]) == (3, "default")
        launch = next(row for row in rows if row["kind"] == "launch-started")
        assert (launch["job"], launch["attempt"]) == (f"{batch}.1", 1)


# --- the socket


async def test_the_socket_is_for_its_user_and_group_and_goes_with_the_daemon(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        assert stat.S_IMODE(api.socket.stat().st_mode) == 0o660
    assert not api.socket.exists()
    with pytest.raises(Unreachable, match="no daemon listens on"):
        await api.call(reading("/v1/health"))


async def test_a_second_daemon_does_not_take_the_socket(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        with pytest.raises(Locked, match="another daemon listens"), listening(api.socket):
            pass
        await api.call(reading("/v1/health"))


def test_a_socket_that_was_left_behind_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "ctl.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with listening(path), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(path))


def test_what_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ctl.sock"
    path.write_text("precious")
    with pytest.raises(Misconfigured, match="is not a socket"), listening(path):
        pass
    assert path.read_text() == "precious"


def test_a_path_that_is_too_long_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="can't listen on"), listening(tmp_path / ("x" * 200)):
        pass


async def raw(api: Served, request: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(api.socket)
    writer.write(request)
    answer = await reader.readuntil(b"}}")
    writer.close()
    return answer


async def test_a_body_that_is_too_large_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        answer = await raw(api, b"POST /v1/pause HTTP/1.1\r\nHost: d\r\nContent-Length: 99999999999\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 413")
        assert json.loads(answer[answer.index(b"{") :])["error"]["code"] == "too-large"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
async def test_another_user_gets_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await asyncio.to_thread(tmp_path.chmod, 0o755)
        code = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        asking = await asyncio.create_subprocess_exec(
            "python3", "-c", code, api.socket, user=65534, group=65534, stderr=asyncio.subprocess.PIPE, cwd="/"
        )
        _, said = await asking.communicate()
        assert b"PermissionError" in said
