"""What tests of the framework share."""

import pytest


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pytest that is started loads no plugin but those that it is told of: ours take a second."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
