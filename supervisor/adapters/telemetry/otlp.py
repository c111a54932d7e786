"""Spans in the protocol that collectors take. The one module that imports the extra `otel`: import it when needed.

Only the protocol's messages are used, not OpenTelemetry's SDK. The SDK is made for programs that trace themselves
while they run: it generates ids, timestamps spans with the present, and queues them in memory. Here the journal has
what happened, and when, and is the queue.
"""

from collections.abc import Callable, Iterable, Mapping

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2 as otlp

from supervisor.observe.traces.span import Moment, Span, Value

#: takes secrets out of a text
type Masked = Callable[[str], str]


def request(spans: Iterable[Span], resource: Mapping[str, Value], version: str, masked: Masked = str) -> bytes:
    scope = InstrumentationScope(name="agent-supervisor", version=version)
    inside = otlp.ScopeSpans(scope=scope, spans=[_span(each, masked) for each in spans])
    of = otlp.ResourceSpans(resource=Resource(attributes=_attributes(resource, masked)), scope_spans=[inside])
    return ExportTraceServiceRequest(resource_spans=[of]).SerializeToString()


def rejected(answer: bytes) -> tuple[int, str]:
    """How many spans the collector did not take although it took the request, and what it says of that."""
    try:
        said = ExportTraceServiceResponse.FromString(answer).partial_success
    except DecodeError:  # it accepted them, with a response in another format
        return 0, ""
    return max(0, said.rejected_spans), said.error_message


def _span(span: Span, masked: Masked) -> otlp.Span:
    failed = otlp.Status(code=otlp.Status.STATUS_CODE_ERROR, message=masked(span.problem)) if span.problem else None
    return otlp.Span(
        trace_id=bytes.fromhex(span.ids.trace),
        span_id=bytes.fromhex(span.ids.span),
        parent_span_id=bytes.fromhex(span.parent),
        name=span.name,
        kind=otlp.Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=_nanoseconds(span.start),
        end_time_unix_nano=_nanoseconds(span.end),
        attributes=_attributes(span.attributes, masked),
        events=[_moment(each, masked) for each in span.moments],
        links=[
            otlp.Span.Link(trace_id=bytes.fromhex(each.trace), span_id=bytes.fromhex(each.span))
            for each in span.links
        ],
        dropped_links_count=span.unlinked,
        status=failed,
    )


def _moment(moment: Moment, masked: Masked) -> otlp.Span.Event:
    said = _attributes({"agent_supervisor.detail": moment.about}, masked) if moment.about else []
    return otlp.Span.Event(time_unix_nano=_nanoseconds(moment.at), name=moment.name, attributes=said)


def _attributes(attributes: Mapping[str, Value], masked: Masked) -> list[KeyValue]:
    return [KeyValue(key=key, value=_value(value, masked)) for key, value in attributes.items()]


def _value(value: Value, masked: Masked) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    return AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=masked(value))


def _nanoseconds(at: float) -> int:
    return max(0, round(at * 1_000_000)) * 1000
