"""What `doctor` judges, and what it finds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from supervisor.settings import Settings


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    state: Literal["ok", "warning", "problem"]
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    settings: "Settings"
    #: where they come from, as shown to the user
    source: str
    #: the daemon's if it runs, else ours
    path: str
    user: int
    is_running: bool = False
