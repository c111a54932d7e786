"""Stands for a collector: an HTTP server on loopback that takes OTLP, decodes it, and answers as it is told to."""

import gzip
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span


@dataclass(frozen=True)
class Heard:
    path: str
    headers: dict[str, str]
    of: ResourceSpans

    @property
    def spans(self) -> list[Span]:
        return [span for scope in self.of.scope_spans for span in scope.spans]


@dataclass
class Collecting:
    url: str = ""
    heard: list[Heard] = field(default_factory=list)
    #: the next answers; then 200. 0: none at all, until it is over
    answers: deque[tuple[int, bytes]] = field(default_factory=deque)
    over: threading.Event = field(default_factory=threading.Event)

    def answer(self, *statuses: int) -> None:
        self.answers.extend((status, b"") for status in statuses)

    def reject(self, spans: int, why: str) -> None:
        partial = ExportTracePartialSuccess(rejected_spans=spans, error_message=why)
        self.answers.append((200, ExportTraceServiceResponse(partial_success=partial).SerializeToString()))

    @property
    def spans(self) -> list[Span]:
        """Of requests that were taken or not."""
        return [span for heard in self.heard for span in heard.spans]


def attributes(of: Any) -> dict[str, Any]:
    return {each.key: _value(each) for each in of.attributes}


def _value(each: KeyValue) -> Any:
    kind = each.value.WhichOneof("value")
    assert kind is not None
    return getattr(each.value, kind)


class _Server(ThreadingHTTPServer):
    def __init__(self, known: Collecting) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.known = known


class _Answering(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        known, headers = self.server.known, {key.lower(): value for key, value in self.headers.items()}
        body = gzip.decompress(self.rfile.read(int(headers["content-length"])))
        [of] = ExportTraceServiceRequest.FromString(body).resource_spans
        known.heard.append(Heard(self.path, headers, of))
        status, said = known.answers.popleft() if known.answers else (200, b"")
        self.close_connection = True
        if not status:
            known.over.wait(60)
            return
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *args: object) -> None:
        """Quiet."""


@contextmanager
def collecting() -> Iterator[Collecting]:
    known = Collecting()
    with _Server(known) as server:
        known.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield known
        finally:
            known.over.set()
            server.shutdown()
            thread.join()
