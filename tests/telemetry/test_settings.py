"""What `[telemetry]` may say."""

from pathlib import Path

import pytest

from supervisor.errors import Misconfigured
from supervisor.settings import load


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('endpoint = "collector:4318"', "it must be a URL, or name where one is kept"),
        ('endpoint = "http://ann:s3cret@collector:4318"', "a URL with a password or a query in it would be shown"),
        ('endpoint = "https://collector?key=s3cret"', "a URL with a password or a query in it would be shown"),
        ('headers = { authorization = "Bearer s3cret" }', "it must name a credential file or a variable"),
        ('headers = { authorization = "" }', "the header authorization has no value"),
        ('headers = { "a b" = "env:A" }', "'a b' is not a header"),
        ('headers = { Content-Type = "env:A" }', "'Content-Type' is not a header"),
        ('endpiont = "http://127.0.0.1:4318"', "telemetry.endpiont is not a key"),
    ],
)
def test_what_cannot_be_is_said_without_a_secret(table: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(f"[telemetry]\n{table}\n")
    with pytest.raises(Misconfigured) as refused:
        load(tmp_path / "c.toml")
    assert says in refused.value.message
    assert "s3cret" not in refused.value.message


def test_places_of_secrets_are_taken(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(
        '[telemetry]\nendpoint = "env:OTEL_EXPORTER_OTLP_ENDPOINT"\nheaders = { x-api-key = "credential:otlp" }\n'
    )
    table = load(tmp_path / "c.toml").telemetry
    assert (table.endpoint, table.headers) == ("env:OTEL_EXPORTER_OTLP_ENDPOINT", {"x-api-key": "credential:otlp"})
