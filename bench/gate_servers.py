"""For `bench.gate`: what its clients ask, and a floor in between. Both print their port.

python -m bench.gate_servers upstream EVENTS PACE
python -m bench.gate_servers floor PORT
"""

import asyncio
import json
import sys
import time
from contextlib import suppress


async def upstream(events: int, pace: float) -> None:
    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-le")
                )
                await reader.readexactly(length)
                await _stream(writer, events, pace)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0, limit=2**20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _stream(writer: asyncio.StreamWriter, events: int, pace: float) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    usage = {"input_tokens": 10, "output_tokens": 1}
    await _event(writer, {"type": "message_start", "message": {"usage": usage}})
    for _ in range(events):
        await asyncio.sleep(pace)
        await _event(
            writer, {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "some words " * 3}}
        )
    await _event(
        writer, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    )
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _event(writer: asyncio.StreamWriter, event: dict[str, object]) -> None:
    event["sent"] = time.monotonic_ns()
    data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
    await writer.drain()


# --- the floor


async def floor(upstream: int) -> None:
    """No thought is spent on what passes."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", upstream)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_copy(reader, up_writer))
            tasks.create_task(_copy(up_reader, writer))

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["upstream", events, pace]:
            asyncio.run(upstream(int(events), float(pace)))
        case ["floor", port]:
            asyncio.run(floor(int(port)))
