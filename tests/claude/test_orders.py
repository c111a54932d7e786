"""How claude is started: what it runs with, and that it asks nobody about its key."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.layout import Layout
from supervisor.kinds import kind_of
from supervisor.kinds.claude import APPROVE_KEY, UNATTENDED
from supervisor.kinds.kind import FIRST_WORDS
from supervisor.launch.orders import ContractOrders
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.profile import Profile
from supervisor.verification.inspecting import write_advice

KEY = "sk-ant-api03-0123456789_abcdefghij-KLMNOPQRSTUVWXYZ"


def approved(tmp_path: Path, config: dict[str, Any], **env: str) -> dict[str, Any]:
    """The configuration that mngr has written, once the command has run beside it."""
    place = tmp_path / ".claude.json"
    place.write_text(json.dumps(config, indent=2) + "\n")
    place.chmod(0o600)
    env = {"PATH": os.environ["PATH"], "CLAUDE_CONFIG_DIR": str(tmp_path), **env}
    subprocess.run(["sh", "-euc", f"{{ {APPROVE_KEY}\n}} || exit 1"], check=True, env=env)
    assert place.stat().st_mode & 0o777 == 0o600
    found: dict[str, Any] = json.loads(place.read_text())
    return found


def test_the_key_of_the_profile_is_approved_and_the_rest_stays(tmp_path: Path) -> None:
    config = {"theme": "dark", "customApiKeyResponses": {"approved": [], "rejected": [KEY[-20:]]}}
    found = approved(tmp_path, config, ANTHROPIC_API_KEY=KEY)
    assert found == {"theme": "dark", "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []}}


@pytest.mark.parametrize("key", ["", 'a"]}, "hooks": {"', "back\\slash", "two\nlines"])
def test_what_is_no_key_changes_nothing(tmp_path: Path, key: str) -> None:
    assert approved(tmp_path, {"theme": "dark"}, ANTHROPIC_API_KEY=key) == {"theme": "dark"}


def test_a_claude_without_a_configuration_of_its_own_is_left_alone(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": KEY, "CLAUDE_CONFIG_DIR": str(tmp_path / "none")}
    subprocess.run(["sh", "-euc", f"{{ {APPROVE_KEY}\n}} || exit 1"], check=True, env=env)
    assert list(tmp_path.iterdir()) == []


def test_on_another_host_it_may_be_root() -> None:
    assert kind_of("claude").environment("modal")["IS_SANDBOX"] == "1"
    assert ("IS_SANDBOX" in kind_of("claude").environment("local")) is (os.geteuid() == 0)


def test_what_the_profile_says_goes_before(tmp_path: Path) -> None:
    profile = Profile(agent="claude", env={"DISABLE_AUTOUPDATER": "0", "IS_SANDBOX": ""})
    batch = Batch("b1", 1, "/repo", "0" * 40, ("test_app.py::test_one",), profile, 0.0)
    attempt = Attempt(AttemptKey("b1", 1, 1), "agent-1", "sv-b1-1-1", "local", "local", "", False, 0.0)
    order = ContractOrders(Layout(tmp_path), "here", None, write_advice).order(batch, attempt)
    assert UNATTENDED.keys() <= order.env.keys()
    assert [order.env["DISABLE_AUTOUPDATER"], order.env["IS_SANDBOX"]] == ["0", ""]
    assert order.message == FIRST_WORDS
    assert APPROVE_KEY in order.provision
