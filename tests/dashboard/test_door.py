"""Nothing is readable without a session, nothing is changed by another site, and no page runs what is not ours."""

import asyncio
import getpass
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from supervisor.control.client import Client
from tests.dashboard.seen import seen
from tests.flow.world import World

READ = (
    *("/", "/batches", "/batches/b", "/batches/b/jobs", "/batches/b/live", "/batches/b/series", "/batches/b/morning"),
    *("/jobs/b.1", "/jobs/b.1/peek", "/jobs/b.1/log", "/metrics", "/feed.atom"),
)
CHANGES = (
    *("/do/queue/pause", "/do/queue/resume", "/do/batch/b/pause", "/do/batch/b/cancel", "/do/job/b.1/cancel"),
    *("/do/pool/local/slots", "/logout"),
)


def a_world() -> World:
    return World(local=2).submit("b", 3)


async def form_key(client: httpx.AsyncClient) -> str:
    page = (await client.get("/")).text
    return page.partition('name="form_key" value="')[2].partition('"')[0]


async def test_without_a_session_nothing_is_readable_and_nothing_is_changed(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.browser() as client:
        for path in READ:
            answer = await client.get(path)
            assert answer.status_code == 401, path
            assert "test_it" not in answer.text
        for path in CHANGES:
            answer = await client.post(path, data={"form_key": "x", "slots": "9"})
            assert answer.status_code == 401, path
        for path in ("/v1/status", "/openapi.json", "/docs", "/assets/../serving.py", "/assets/%2e%2e/serving.py"):
            assert (await client.get(path)).status_code in (401, 404), path
        assert not there.state.paused


async def test_a_token_lets_one_browser_in_and_the_cookie_is_kept_from_scripts_and_other_sites(
    tmp_path: Path,
) -> None:
    async with seen(tmp_path, a_world()) as there, there.browser() as client, there.browser() as other:
        token = there.token()
        answer = await client.get("/login", params={"token": token})
        kept = answer.headers["set-cookie"].lower()
        assert "httponly" in kept
        assert "samesite=strict" in kept
        assert (await client.get("/")).status_code == 200
        assert (await other.get("/login", params={"token": token})).status_code == 403
        assert (await other.get("/")).status_code == 401


@pytest.mark.parametrize("said", ["HEAD", "OPTIONS"])
async def test_asking_otherwise_uses_up_no_token(tmp_path: Path, said: str) -> None:
    async with seen(tmp_path, a_world()) as there, there.browser() as client:
        token = there.token()
        await client.request(said, "/login", params={"token": token})
        assert (await client.get("/login", params={"token": token})).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "[::2]", ""],
)
async def test_a_name_that_is_not_ours_gets_no_answer(tmp_path: Path, host: str) -> None:
    """A site whose own name was made to point at this machine."""
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        for path in ("/", "/login", "/assets/dashboard.css"):
            answer = await client.get(path, headers={"Host": host})
            assert answer.status_code in (400, 421), path
            assert "test_it" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "localhost:8600", "127.0.0.1:1", "[::1]:9", "LOCALHOST:8600"])
async def test_any_port_of_this_machine_is_ours(tmp_path: Path, host: str) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        assert (await client.get("/", headers={"Host": host})).status_code == 200


FOREIGN: list[dict[str, str]] = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "https://127.0.0.1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
async def test_another_site_changes_nothing_even_with_the_cookie_and_the_key(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        data = {"form_key": await form_key(client)}
        assert (await client.post("/do/queue/pause", data=data, headers=headers)).status_code == 403
        assert not there.state.paused


@pytest.mark.parametrize("dest", ["empty", "iframe", "script", "image"])
async def test_another_site_embeds_nothing(tmp_path: Path, dest: str) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": dest}
        assert (await client.get("/", headers=headers)).status_code == 403


@pytest.mark.parametrize("key", [None, "", "x" * 64, "another's"])
async def test_a_form_without_the_key_of_its_session_changes_nothing(tmp_path: Path, key: str | None) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client, there.logged_in("bob") as other:
        said = await form_key(other) if key == "another's" else key
        data = {} if said is None else {"form_key": said}
        answer = await client.post("/do/queue/pause", data=data)
        assert answer.status_code in (403, 415)
        twice = await client.post("/do/queue/pause", content=f"form_key={await form_key(client)}&form_key=x")
        assert twice.status_code in (403, 415)
        assert not there.state.paused


async def test_json_is_no_form(tmp_path: Path) -> None:
    """A page elsewhere can't send a form that says so, but can send text that looks like one."""
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        key = await form_key(client)
        for kind in ("text/plain", "application/json", "multipart/form-data"):
            answer = await client.post("/do/queue/pause", content=f"form_key={key}", headers={"Content-Type": kind})
            assert answer.status_code == 415
        assert not there.state.paused


async def test_every_answer_says_what_a_browser_may_do(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        for path in ("/", "/login", "/nowhere", "/batches/b/series"):
            headers = (await client.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self';" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            assert "access-control-allow-origin" not in headers


async def test_files_are_kept_for_good_under_the_hash_of_their_content(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        page = (await client.get("/")).text
        found = {part.partition('"')[0] for part in page.split('"/assets/')[1:]}
        assert len(found) >= 8
        for name in found:
            answer = await client.get(f"/assets/{name}")
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
        assert (await client.get("/assets/dashboard.css")).status_code == 404


def raw(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as there:
        there.sendall(request)
        answer = b""
        while piece := there.recv(65536):
            answer += piece
            if b"\r\n\r\n" in answer:
                break
        return answer


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example",
        b"GET / HTTP/1.1",
        b"GET / HTTP/1.0",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-User: root",
        b"POST /do/queue/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\nAuthorization: Basic cm9vdDo=",
    ],
)
async def test_tricks_with_headers_open_nothing(tmp_path: Path, request_line: bytes) -> None:
    async with seen(tmp_path, a_world()) as there:
        said = await asyncio.to_thread(raw, there.port, request_line + b"\r\nConnection: close\r\n\r\n0\r\n\r\n")
        assert said.split(b" ")[1] in (b"400", b"401", b"421"), said


async def test_too_much_is_not_read(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        answer = await client.post("/do/queue/pause", content=b"x" * 200_000)
        assert answer.status_code == 413


async def test_the_session_ends_where_one_logs_out(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.logged_in() as client:
        await client.post("/logout", data={"form_key": await form_key(client)})
        assert (await client.get("/")).status_code == 401


async def test_who_may_use_the_api_is_invited_under_their_own_name(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there, there.browser() as client:
        invited: dict[str, Any] = await asyncio.to_thread(Client(there.api).post, "/v1/dashboard")
        assert invited["port"] == there.port
        assert (await client.get("/login", params={"token": invited["token"]})).status_code == 200
        assert getpass.getuser() in (await client.get("/")).text


async def test_the_token_of_a_program_reads_numbers_and_the_feed_and_nothing_else(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there:
        invited: dict[str, Any] = await asyncio.to_thread(Client(there.api).post, "/v1/dashboard")
        token = invited["reader_token"]
        async with there.browser(Authorization=f"Bearer {token}") as program:
            numbers = await program.get("/metrics")
            assert (numbers.status_code, "agent_supervisor_jobs" in numbers.text) == (200, True)
            assert (await program.get("/feed.atom")).status_code == 200
            assert (await program.get("/login", params={"token": token})).status_code == 403
            for path in set(READ) - {"/metrics", "/feed.atom"}:
                assert (await program.get(path)).status_code == 401, path
            for path in (*CHANGES, "/metrics"):
                assert (await program.post(path, data={"form_key": "x"})).status_code in (401, 405), path


@pytest.mark.parametrize("said", ["", "Bearer", "Bearer x", "Basic {}", "Bearer {}x", "{}", "Bearer \u00e9"])
async def test_what_is_not_the_token_reads_nothing(tmp_path: Path, said: str) -> None:
    async with seen(tmp_path, a_world()) as there:
        token = there.dashboard.invite("ann")["reader_token"]
        async with there.browser() as program:
            headers = {b"authorization": said.format(token).encode("latin-1")}
            assert (await program.get("/metrics", headers=headers)).status_code == 401


async def test_the_socket_of_the_pages_has_none_of_the_api(tmp_path: Path) -> None:
    async with seen(tmp_path, a_world()) as there:
        way = httpx.AsyncHTTPTransport(uds=str(there.home / "ctl.web"))
        async with httpx.AsyncClient(transport=way, base_url="http://localhost", trust_env=False) as client:
            for path in ("/v1/status", "/v1/pause", "/"):
                assert (await client.get(path)).status_code == 401
            await client.get("/login", params={"token": there.token()})
            assert (await client.get("/")).status_code == 200
            assert (await client.get("/v1/status")).status_code == 404
