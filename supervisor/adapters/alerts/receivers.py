"""The receivers that the configuration names, and what is delivered to each."""

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from supervisor.adapters.alerts.delivery import Delivery, Receiver
from supervisor.adapters.alerts.mail import Mail
from supervisor.adapters.alerts.webhook import Webhook
from supervisor.errors import Misconfigured
from supervisor.observe.stream import Stream
from supervisor.ports import Journal
from supervisor.settings import Settings
from supervisor.transcripts.redact import Open, of_this_process


def deliveries(settings: Settings, credentials: Path | None, journal: Journal, stream: Stream) -> list[Delivery]:
    redactor, folder = of_this_process(credentials), settings.state_dir / "alerts"

    def masked(text: str) -> str:
        return redactor.masked(text, Open())

    return [Delivery(each, journal, stream, folder, time.time, masked) for each in receivers(settings, credentials)]


def receivers(settings: Settings, credentials: Path | None) -> Iterator[Receiver]:
    for hook in settings.webhooks:
        secret = partial(said, hook.secret, credentials) if hook.secret else None
        yield Webhook(hook.name, partial(said, hook.url, credentials), secret, hook.only)
    if settings.mail.to:
        yield Mail(settings.mail.to, settings.mail.sender, settings.mail.only)


def said(value: str, credentials: Path | None) -> str:
    """What a value stands for: the content of a credential file, of a variable, or itself."""
    kind, _, name = value.partition(":")
    if kind == "env":
        if found := os.environ.get(name, "").strip():
            return found
        raise Misconfigured(f"the variable {name} is not set", hint="set it in the daemon's environment")
    if kind != "credential":
        return value
    try:
        if credentials is None or "/" in name:
            raise FileNotFoundError(None, "there is no directory of credentials")
        return (credentials / name).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Misconfigured(f"the credential {name} can't be read: {why}", hint="see docs/systemd.md") from None
