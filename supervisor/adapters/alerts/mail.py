"""Mail about alerts, handed to the system's sendmail."""

import os
import socket
from collections.abc import Mapping
from email.message import EmailMessage
from email.utils import formatdate
from shutil import which
from typing import Any

from supervisor.adapters.alerts.delivery import Undelivered
from supervisor.adapters.process import run

TIMEOUT_SECONDS = 60.0
#: where sendmail is, if it is not on PATH
FOLDERS = ("/usr/sbin", "/usr/lib")
LONGEST_SUBJECT = 120
_MENDING_SECONDS = 300.0


class Mail:
    name = "mail"

    def __init__(
        self, to: tuple[str, ...], sender: str = "", only: tuple[str, ...] = (), path: str | None = None
    ) -> None:
        """`path`: where programs are; default: PATH, and the folders where systems have sendmail."""
        self.only, self._to, self._sender = only, to, sender
        self._path = os.pathsep.join([os.environ.get("PATH", os.defpath), *FOLDERS]) if path is None else path

    async def deliver(self, notice_id: str, content: dict[str, Any]) -> None:
        if (program := which("sendmail", path=self._path)) is None:
            raise Undelivered("there is no sendmail on PATH", again=_MENDING_SECONDS)
        sender = ["-f", self._sender] if self._sender else []
        argv = [program, "-i", *sender, "--", *self._to]
        try:
            ended = await run(
                argv, env=_environment(), timeout=TIMEOUT_SECONDS, stdin=self._message(notice_id, content)
            )
        except OSError as error:
            why = "it took too long" if isinstance(error, TimeoutError) else error.strerror or "it can't be started"
            raise Undelivered(f"sendmail failed: {why}") from None
        if ended.code:
            raise Undelivered(f"sendmail ended with {ended.code}")

    def _message(self, notice_id: str, content: dict[str, Any]) -> bytes:
        alert, is_over = content["alert"], content["type"] == "alert.resolved"
        message = EmailMessage()
        subject = _printable(f"{'over: ' if is_over else ''}{alert['message']}")[:LONGEST_SUBJECT]
        message["Subject"] = f"[agent-supervisor] {subject}"
        message["To"] = ", ".join(self._to)
        if self._sender:
            message["From"] = self._sender
        message["Date"] = formatdate(localtime=True)
        message["Message-ID"] = f"<{notice_id}@{socket.gethostname() or 'localhost'}>"
        message["Auto-Submitted"] = "auto-generated"
        lines = [content["text"], "", f"kind     {alert['kind']}", f"at       {content['at']}"]
        lines += [f"subject  {alert['subject']}"] if alert["subject"] else []
        lines += ["", "`supervisorctl alerts` lists what holds now."]
        message.set_content("\n".join(map(_printable, lines)) + "\n")
        return message.as_bytes()


def _printable(text: str) -> str:
    """The text on one line, without characters that terminals or headers interpret: agents wrote parts of it."""
    return "".join(char if char.isprintable() else "�" for char in text).encode(errors="replace").decode()


def _environment() -> Mapping[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "USER", "LOGNAME") if name in os.environ}
