"""What a value of the configuration may be, beyond its type."""

import re
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field

from supervisor.flow import window

PREFIX = "SUPERVISOR_"

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
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


type AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
type Words = tuple[str, ...]
type Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
#: seconds, or a text such as "90s", "30m", "2h", "1d"
type Duration = Annotated[Seconds, BeforeValidator(_duration)]
type Name = Annotated[str, Field(pattern=_NAME)]
