"""The keys of `[telemetry]`."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel

from supervisor.settings.values import secret, url_or_secret

#: what a header may be called; those of the message itself are ours
_HEADER = re.compile(r"(?!(content|host|transfer)\b)[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", re.I)


def _endpoint(text: str) -> str:
    found = urlsplit(url_or_secret(text) if text else "")
    if found.username is not None or found.query or found.fragment:
        raise ValueError("a URL with a password or a query in it would be shown: say those with `headers`")
    return text


def _headers(said: dict[str, str]) -> dict[str, str]:
    for name, value in said.items():
        if not _HEADER.fullmatch(name):
            raise ValueError(f"{name!r} is not a header such as authorization")
        if not value:
            raise ValueError(f"the header {name} has no value: name where it is kept, such as credential:otlp")
        secret(value)
    return said


class TelemetryTable(BaseModel, frozen=True, extra="forbid"):
    """Traces of attempts, for a collector of OpenTelemetry. It needs the extra `otel`: see docs/traces.md."""

    #: where the collector takes OTLP by HTTP, such as `http://127.0.0.1:4318`, or where its URL is kept, such as
    #: `env:OTEL_EXPORTER_OTLP_ENDPOINT`; `/v1/traces` is added; empty: nothing is told
    endpoint: Annotated[str, AfterValidator(_endpoint)] = ""
    #: headers of each request, and where their values are kept, such as `{ authorization = "credential:otlp" }` or
    #: `{ x-api-key = "env:OTLP_KEY" }`
    headers: Annotated[dict[str, str], AfterValidator(_headers)] = {}
