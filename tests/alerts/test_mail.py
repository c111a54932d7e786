"""Mail is handed to the system's sendmail, whatever agents have written into an alert."""

from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.alerts.delivery import Undelivered
from supervisor.adapters.alerts.mail import Mail
from supervisor.model.event import AlertRaised, AlertResolved
from supervisor.observe.alerts import notice

HOSTILE = "it says\r\nBcc: all@example.org\r\n\r\n\x1b[31mhello\x1b[0m \udcff ü"
CONTENT: dict[str, Any] = notice(AlertRaised(0, "stopped.b", "stopped", "b", HOSTILE))


def sendmail(folder: Path, code: int = 0) -> Path:
    """An executable that writes down what it gets."""
    program = folder / "sendmail"
    program.write_text(f'#!/bin/sh\necho "$*" > "{folder}/argv"\ncat > "{folder}/mail"\nexit {code}\n')
    program.chmod(0o755)
    return folder


async def test_it_is_one_message_with_plain_text(tmp_path: Path) -> None:
    path = str(sendmail(tmp_path))
    await Mail(("team@example.org", "ann@example.org"), "night@example.org", path=path).deliver("n1", CONTENT)
    assert (tmp_path / "argv").read_text() == "-i -f night@example.org -- team@example.org ann@example.org\n"
    message = message_from_bytes((tmp_path / "mail").read_bytes(), policy=policy.default)
    assert message["To"] == "team@example.org, ann@example.org"
    assert message["From"] == "night@example.org"
    assert message["Bcc"] is None
    assert message["Subject"].startswith("[agent-supervisor] it says")
    assert message["Message-ID"].startswith("<n1@")
    body = message.get_content()
    assert "\x1b" not in body
    assert "kind     stopped" in body


async def test_its_end_is_told_by_another(tmp_path: Path) -> None:
    over = notice(AlertResolved(0, "x", "paused", "b", "batch b has been paused", why="batch b is over"))
    await Mail(("a@b.c",), path=str(sendmail(tmp_path))).deliver("n2", over)
    message = message_from_bytes((tmp_path / "mail").read_bytes(), policy=policy.default)
    assert message["Subject"] == "[agent-supervisor] over: batch b has been paused"
    assert "(batch b is over)" in message.get_content()


async def test_a_failure_is_told(tmp_path: Path) -> None:
    with pytest.raises(Undelivered, match="ended with 75"):
        await Mail(("a@b.c",), path=str(sendmail(tmp_path, 75))).deliver("n1", CONTENT)
    with pytest.raises(Undelivered, match="no sendmail on PATH"):
        await Mail(("a@b.c",), path=str(tmp_path / "nothing")).deliver("n1", CONTENT)
