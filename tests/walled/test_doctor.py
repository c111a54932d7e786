"""What `doctor` and `config check` say of walls around agents."""

import os
from pathlib import Path
from typing import Any, cast

from supervisor.cli import session
from supervisor.cli.doctor_walls import agent_walls, unwalled_profiles
from supervisor.cli.findings import Judged
from supervisor.settings import Settings


def settings(folder: Path, **profiles: Any) -> Settings:
    return Settings.model_validate({"state_dir": folder, "socket": folder / "ctl.sock", "profiles": profiles})


def found(folder: Path, **profiles: Any) -> list[tuple[str, str]]:
    judged = Judged(settings(folder, **profiles), "of a test", os.defpath, os.geteuid())
    return [(each.state, each.message) for each in agent_walls(cast("session.Session", None), judged)]


def test_where_nobody_asks_nothing_is_said(tmp_path: Path) -> None:
    assert found(tmp_path) == found(tmp_path, day={"slots": 2}) == []


def test_it_says_which_profiles_have_them(tmp_path: Path) -> None:
    [(state, message)] = found(tmp_path, day={"agent_walls": "auto"}, night={"agent_walls": "require"}, plain={})
    if state == "ok":
        assert message == "agents on this machine have walls, in the profiles: day, night"
    else:
        assert (state, message[:44]) == ("problem", "agents have no walls, they can't be built he")


def test_a_kind_that_can_have_none_is_named(tmp_path: Path) -> None:
    said = "profile night: its agents run without walls: agents of the kind own can't have walls yet"
    assert found(tmp_path, night={"agent": "own", "agent_walls": "auto"}) == [("warning", said)]
    assert unwalled_profiles(settings(tmp_path, night={"agent": "own", "agent_walls": "auto"})) == [said]
