"""What a value of the configuration may be, beyond its type."""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field

from supervisor.flow import window

PREFIX = "SUPERVISOR_"

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_VARIABLE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
_URL = re.compile(r"https?://[^\s/]+\S*")
_TIME = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9]")
_CREDENTIAL = re.compile(r"credential:[A-Za-z0-9_.-]+")


def _absolute(path: Path) -> Path:
    path = path.expanduser()
    if not path.is_absolute():
        raise ValueError(f"{path} is not an absolute path")
    return path


def absolute_text(path: str) -> str:
    return str(_absolute(Path(path))) if path else ""


def window_of_day(text: str) -> str:
    if text:
        window.parse(text)
    return text


def time_of_day(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise ValueError(f"{text!r} is not a time of day such as 22:00")
    return text


def timezone_name(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"{name!r} is not a time zone such as Europe/Berlin") from error
    return name


def environment(env: dict[str, str]) -> dict[str, str]:
    for name, value in env.items():
        if not _ENV_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid name of a variable")
        if name.startswith(PREFIX):
            raise ValueError(f"{name} is reserved: the agent contract sets it")
        if value.startswith("credential:") and not _CREDENTIAL.fullmatch(value):
            raise ValueError(f"{name} must name a credential file, such as credential:api-key")
    return env


def _duration(said: object) -> object:
    if not isinstance(said, str):
        return said
    if (found := _DURATION.fullmatch(said.strip())) is None:
        raise ValueError(f"{said!r} is not a duration such as 90s, 30m, 2h or 1d")
    return float(found[1]) * _UNITS[found[2]]


def inside(folders: tuple[str, ...]) -> tuple[str, ...]:
    for folder in folders:
        if not folder or folder.startswith("/") or ".." in folder.split("/") or ":" in folder:
            raise ValueError(f"{folder!r} is not a folder inside the repository, such as src")
    return folders


def credential(text: str) -> str:
    if text and not _CREDENTIAL.fullmatch(text):
        raise ValueError("it must name a credential file, such as credential:github")
    return text


def address(text: str) -> str:
    """Of this machine's loopback, literally: what is said there is not encrypted."""
    host, _, port = text.rpartition(":")
    if not ip_address(host.removeprefix("[").removesuffix("]")).is_loopback:
        raise ValueError(f"{text!r} can be reached from other machines: take an address such as 127.0.0.1:8647")
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} is not an address and a port such as 127.0.0.1:8647")
    return text


def provider_url(text: str) -> str:
    found = urlsplit(text)
    is_here = found.hostname in ("127.0.0.1", "::1", "localhost")
    if found.scheme != "https" and not (found.scheme == "http" and is_here):
        raise ValueError(f"{text!r} is not a URL that begins with https://: a key must not be sent in the clear")
    is_versioned = found.path.rstrip("/").endswith("/v1")
    if not found.hostname or found.query or found.fragment or found.username or is_versioned:
        raise ValueError(f"{text!r} is not a provider's URL without a version, such as https://api.anthropic.com")
    return text.rstrip("/")


def secret(text: str) -> str:
    if text and not _CREDENTIAL.fullmatch(text) and not _VARIABLE.fullmatch(text):
        raise ValueError("it must name a credential file or a variable, such as credential:hook or env:HOOK_SECRET")
    return text


def url_or_secret(text: str) -> str:
    if not text or not (_URL.fullmatch(text) or _CREDENTIAL.fullmatch(text) or _VARIABLE.fullmatch(text)):
        raise ValueError("it must be a URL, or name where one is kept, such as credential:hook-url or env:HOOK_URL")
    return text


type AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
type Words = tuple[str, ...]
type Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
#: seconds, or a text such as "90s", "30m", "2h", "1d"
type Duration = Annotated[Seconds, BeforeValidator(_duration)]
type Name = Annotated[str, Field(pattern=_NAME)]
