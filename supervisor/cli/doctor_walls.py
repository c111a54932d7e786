"""What `doctor` and `config check` say of walls around agents of this machine, where a profile asks for them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from supervisor.cli import session
from supervisor.cli.findings import Finding, Judged
from supervisor.kinds import unwalled
from supervisor.model.profile import Profile

if TYPE_CHECKING:
    from supervisor.settings import Settings

HINT = 'say agent_walls = "off", or change that'


def agent_walls(here: session.Session, judged: Judged) -> Iterator[Finding]:
    from anyio import run

    from supervisor.verification.walls.sandbox import mend
    from supervisor.walled.orders import agent_walls_lack

    wanting = _wanting(judged.settings)
    names = ", ".join(profile.name for profile in wanting if not unwalled(profile))
    if names and (lacks := run(agent_walls_lack)):
        is_required = any(profile.agent_walls == "require" for profile in wanting)
        state: Literal["problem", "warning"] = "problem" if is_required else "warning"
        yield Finding("walls", state, f"agents have no walls, they can't be built here: {lacks}", mend(lacks))
    elif names:
        yield Finding("walls", "ok", f"agents on this machine have walls, in the profiles: {names}")
    for said in unwalled_profiles(judged.settings):
        yield Finding("walls", "warning", said, HINT)


def unwalled_profiles(settings: "Settings") -> list[str]:
    """What can be said without a look at this machine."""
    found = [(profile, unwalled(profile)) for profile in _wanting(settings)]
    return [f"profile {profile.name}: its agents run without walls: {why}" for profile, why in found if why]


def _wanting(settings: "Settings") -> list[Profile]:
    from supervisor.settings import resolve

    profiles = [resolve(settings, name) for name in sorted(settings.profiles)]
    return [profile for profile in profiles if profile.agent_walls != "off"]
