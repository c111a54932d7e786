"""Whatever comes over the wire ends in one sentence with the right status, and nothing of it reaches the provider."""

import asyncio
import json
from pathlib import Path

import pytest

from supervisor.gate import app, wire
from tests.gate.gates import ASKS, Open, gate
from tests.gate.provider import STREAM

BODY = json.dumps(ASKS).encode()
JSON = "content-type: application/json\r\n"


async def said(here: Open, raw: bytes, *, eof: bool = False) -> tuple[int, str]:
    """Status and sentence of the answer to these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
    try:
        writer.write(raw)
        if eof:
            writer.write_eof()
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length"))
        body = json.loads(await reader.readexactly(length))
    finally:
        writer.close()
    return int(head.split()[1]), body["error"]["message"]


def request(
    here: Open, target: str = "/v1/messages", more: str = JSON, method: str = "POST", host: str = ""
) -> bytes:
    host = host or f"127.0.0.1:{here.port}"
    head = f"{method} {target} HTTP/1.1\r\nhost: {host}\r\nx-api-key: {here.key}\r\n{more}"
    return f"{head}content-length: {len(BODY)}\r\n\r\n".encode("latin-1") + BODY


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/v1/messages/", 404),
        ("/v1//messages", 404),
        ("//v1/messages", 404),
        ("/v1/../v1/messages", 404),
        ("/v1/messages/../../admin", 404),
        ("/v1/%6dessages", 404),
        ("/v1/messages%2f", 404),
        ("/v1/messages%00", 404),
        ("/v1/messages;x=1", 404),
        ("/v1/organizations", 404),
        ("/v1/files", 404),
        ("/V1/messages", 404),
        ("/v1\\messages", 404),
        ("http://127.0.0.1/v1/messages", 400),
        ("https://api.anthropic.com/v1/messages", 400),
        ("v1/messages", 400),
        ("*", 400),
        ("/v1/messages?a=%0d%0ax", 400),
        ("/v1/messages?" + "a" * 300, 400),
        ("/v1/messages?a[]=1", 400),
        ("/v1/messages#x", 404),
    ],
)
async def test_a_target_that_is_not_one_of_its_paths_byte_for_byte(tmp_path: Path, target: str, status: int) -> None:
    async with gate(tmp_path) as here:
        found, sentence = await said(here, request(here, target))
        assert (found, here.provider.asked) == (status, []), sentence


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "BREW"])
async def test_a_method_that_its_path_does_not_have(tmp_path: Path, method: str) -> None:
    async with gate(tmp_path) as here:
        found, sentence = await said(here, request(here, method=method))
        assert (found, sentence, here.provider.asked) == (405, "this path is for POST only", [])


@pytest.mark.parametrize(
    "host", ["api.anthropic.com", "evil.example:1", "127.0.0.1", "127.0.0.1:1", "localhost", "[::1]"]
)
async def test_a_host_that_the_gate_is_not(tmp_path: Path, host: str) -> None:
    """Such as the name that a stranger's page has, which its DNS says is this machine."""
    async with gate(tmp_path) as here:
        found, _ = await said(here, request(here, host=host))
        assert (found, here.provider.asked) == (421, [])


@pytest.mark.parametrize(
    "header", ["origin: https://evil.example", "sec-fetch-site: cross-site", "referer: https://x"]
)
async def test_a_web_page(tmp_path: Path, header: str) -> None:
    async with gate(tmp_path) as here:
        found, _ = await said(here, request(here, more=f"{JSON}{header}\r\n"))
        assert (found, here.provider.asked) == (403, [])


SMUGGLED = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\n{JSON}\r\n"


@pytest.mark.parametrize(
    "framing",
    [
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: 5, 6\r\n",
        "content-length: +5\r\n",
        "content-length: -5\r\n",
        "content-length: 0x5\r\n",
        "content-length: 5\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding : chunked\r\n",
        " transfer-encoding: chunked\r\n",
        "transfer-encoding: gzip, chunked\r\n",
        "host: 127.0.0.1\r\n",
        "x: a\rb\r\n",
        "x: a\x00b\r\n",
        "x\x01: a\r\n",
    ],
)
async def test_a_request_whose_end_could_be_read_in_two_ways(tmp_path: Path, framing: str) -> None:
    async with gate(tmp_path) as here:
        head = f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{here.port}\r\nx-api-key: {here.key}\r\n"
        head += f"{JSON}{framing}\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        try:
            writer.write(f"{head}0\r\n\r\n{SMUGGLED}".encode("latin-1"))
            answer = await asyncio.wait_for(reader.read(), 30)
        finally:
            writer.close()
        assert answer.split()[1] in (b"400", b"415", b"501"), answer
        assert answer.count(b"HTTP/1.1") == 1, "what follows is not read as another request"
        assert here.provider.asked == []


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"GET  /  HTTP/1.1\r\n\r\n",
        b"\r\n\r\nx\r\n\r\n",
    ],
)
async def test_what_is_no_http(tmp_path: Path, raw: bytes) -> None:
    async with gate(tmp_path) as here:
        assert await said(here, raw, eof=True) == (400, "this is not HTTP that the gate understands")


async def test_another_version_of_http(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        assert (await said(here, b"GET / HTTP/3.0\r\n\r\n"))[0] == 505


async def test_a_head_that_is_too_large(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        found, sentence = await said(here, request(here, more=f"x: {'a' * 70_000}\r\n"))
        assert (found, sentence) == (431, "the head of the request is larger than 65536 bytes")


async def test_a_body_that_is_too_large(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        raw = request(here).replace(f"content-length: {len(BODY)}".encode(), b"content-length: 99999999")
        assert await said(here, raw) == (413, f"the request is larger than {app.BODY_BYTES} bytes")


async def test_a_body_that_grows_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "BODY_BYTES", 10_000)
    async with gate(tmp_path) as here:
        head = request(here).partition(b"content-length")[0] + b"transfer-encoding: chunked\r\n\r\n"
        found, _ = await said(here, head + b"1000\r\n" + b"x" * 4096 + b"\r\n" + b"2000\r\n" + b"x" * 8192 + b"\r\n")
        assert (found, here.provider.asked) == (413, [])


async def test_a_body_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "BODY_SECONDS", 0.3)
    async with gate(tmp_path) as here:
        found, sentence = await said(here, request(here)[:-10])
        assert (found, sentence) == (408, "the request did not arrive within 0.3 seconds")


async def test_a_head_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "HEAD_SECONDS", 0.3)
    async with gate(tmp_path) as here:
        assert (await said(here, b"POST /v1/mess"))[0] == 408
        assert (await said(here, b""))[0] == 408


async def test_a_body_that_ends_early_is_nobodys_request(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(request(here)[:-10])
        await writer.drain()
        writer.close()
        assert await reader.read() == b""
        assert (await here.ask()).status_code == 200
        assert len(here.provider.asked) == 1


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("content-type: text/plain\r\n", 415),
        ("", 415),
        (f"{JSON}content-encoding: gzip\r\n", 415),
        (f"{JSON}{JSON}", 400),
        (f"{JSON}x-api-key: other\r\n", 400),
    ],
)
async def test_a_body_that_the_gate_could_not_judge(tmp_path: Path, header: str, status: int) -> None:
    async with gate(tmp_path) as here:
        found, sentence = await said(here, request(here, more=header))
        assert (found, here.provider.asked) == (status, []), sentence


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'"x"',
        b"{",
        b"{}",
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b"\xff\xfe",
        b'{"model": "m", "max_tokens": -1}',
        b'{"model": "m", "max_tokens": 1e99}',
        b'{"model": "m"}',
        b'{"model": 7, "max_tokens": 7}',
        b'{"model": "", "max_tokens": 7}',
        b'{"model": "a\\u0000", "max_tokens": 7}',
        b'{"model": "' + b"m" * 300 + b'", "max_tokens": 7}',
    ],
)
async def test_a_body_that_says_nothing_of_its_cost(tmp_path: Path, body: bytes) -> None:
    async with gate(tmp_path) as here:
        headers = {"x-api-key": here.key, "content-type": "application/json"}
        answer = await here.client.post("/v1/messages", content=body, headers=headers)
        assert (answer.status_code, here.provider.asked) == (400, []), answer.text
        assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_an_upgrade_is_not_made(tmp_path: Path) -> None:
    async with gate(tmp_path, STREAM) as here:
        more = f"{JSON}connection: upgrade\r\nupgrade: websocket\r\n"
        found, _ = await said(here, request(here, "/v1/responses", more=more, method="GET"))
        assert found == 405


async def test_a_probe_is_answered_and_told_no_more_than_whether_keys_are_there(tmp_path: Path) -> None:
    async with gate(tmp_path) as here:
        assert (await here.client.head("/")).status_code == 200
        assert (await here.client.get("/")).json() == {"problems": []}
        (tmp_path / "key").unlink()
        assert (await here.client.get("/")).json() == {"problems": ["the key of account work can't be used"] * 2}
