"""Which agents get walls, and what is said where they can't have them."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from supervisor.adapters.layout import Layout
from supervisor.control.desk import Desk
from supervisor.control.intake import look
from supervisor.errors import Misconfigured, NoSuchThing, Refused
from supervisor.kinds import KINDS, unwalled
from supervisor.launch.orders import ContractOrders
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.profile import Profile
from supervisor.ports import WALLS, AgentOrder
from supervisor.settings import Settings, resolve
from supervisor.walled.orders import KEEPER, WalledOrders, agent_walls_lack

BATCH = Batch("b1", 1, "/repo", "0" * 40, ("test_app.py::test_one",), Profile(), 0.0)
ATTEMPT = Attempt(AttemptKey("b1", 1, 1), "agent-" + "1" * 32, "sv-b1-1-1", "local", "local", "", False, 0.0)
WITH_WALLS = [name for name, kind in KINDS.items() if kind.has_walls]


def order_of(folder: Path, provider: str = "local", **profile: Any) -> AgentOrder:
    layout = Layout(folder)
    orders = WalledOrders(ContractOrders(layout, "here", None, lambda *_: None), layout)
    wanted = Profile(command=("agent",), **{"agent": "command", "agent_walls": "require", **profile})
    return orders.order(replace(BATCH, profile=wanted), replace(ATTEMPT, provider=provider))


@pytest.mark.parametrize("agent", WITH_WALLS)
def test_the_keeper_is_started_in_the_place_of_the_agent(tmp_path: Path, agent: str) -> None:
    order = order_of(tmp_path, agent=agent)

    started = [*order.args, *order.settings.values()]
    assert any("supervisor.walled.enclose" in word for word in started)
    assert order.env[WALLS].startswith(KEEPER[0])
    assert set(json.loads(order.files["walls.json"].read_text())) >= {"private", "read", "write", "login"}
    for command in order.provision:
        subprocess.run(["sh", "-nc", command], check=True)


def test_no_other_agent_is_touched(tmp_path: Path) -> None:
    """Not one of a pool that is elsewhere, and none whose profile says nothing."""
    off, plain = order_of(tmp_path, agent_walls="off"), Profile(agent="command", command=("agent",))
    bare = ContractOrders(Layout(tmp_path), "here", None, lambda *_: None)

    assert off == bare.order(replace(BATCH, profile=plain), ATTEMPT)
    assert order_of(tmp_path, "modal").args == ("agent",)


@pytest.mark.parametrize("profile", [{"agent": "somebodys-own"}, {"transfer": "git-worktree"}])
def test_one_that_can_have_none_gets_none_where_they_are_not_required(
    tmp_path: Path, profile: dict[str, str]
) -> None:
    wanted: dict[str, Any] = {"agent": "command", "agent_walls": "auto", **profile}
    assert unwalled(Profile(**wanted))
    assert WALLS not in order_of(tmp_path, **{**profile, "agent_walls": "auto"}).env
    with pytest.raises(Misconfigured, match="requires walls around agents: "):
        order_of(tmp_path, **profile)


@pytest.mark.parametrize("profile", [{"agent": "somebodys-own"}, {"transfer": "git-worktree"}])
def test_a_configuration_that_requires_what_can_not_be_is_refused(tmp_path: Path, profile: dict[str, Any]) -> None:
    profiles = {"walled": {"agent_walls": "require", **profile}}
    settings = Settings.model_validate({"state_dir": tmp_path, "socket": tmp_path / "ctl.sock", "profiles": profiles})
    with pytest.raises(Misconfigured, match="profile walled requires walls around agents: ") as refused:
        resolve(settings, "walled")
    assert "agent_walls" in refused.value.hint


class OneProfile:
    def __init__(self, agent_walls: str) -> None:
        self._walls = agent_walls
        self.store = self

    def profile(self, name: str) -> Profile:
        return Profile(name=name, agent_walls=self._walls)

    async def inspect(self, repo: Path) -> object:
        raise ValueError


async def said(folder: Path) -> dict[str, str]:
    """To who submits, where walls can't be built."""
    found = {"lacks": await agent_walls_lack()}
    for agent_walls in ("require", "auto"):
        try:
            await look(cast("Desk", OneProfile(agent_walls)), folder, "walled", allow_dirty=False)
        except NoSuchThing:
            found[agent_walls] = "taken, and there is no such repository"
        except Refused as refused:
            found[agent_walls] = f"{refused.message} ({refused.hint})"
    return found


#: in a user namespace that may have none below it
SHUT = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'


def test_where_none_can_be_built_a_submission_that_requires_them_is_refused(tmp_path: Path) -> None:
    argv = ["unshare", "-Ur", "sh", "-c", SHUT, "sh", sys.executable, "-m", __name__, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    if "Operation not permitted" in done.stderr and not done.stdout:
        pytest.skip("no user namespace can be made here")
    found = json.loads(done.stdout or done.stderr)

    assert found["lacks"]
    start = "profile walled requires walls around agents, and this machine can't build them: "
    assert found["require"].startswith(start + found["lacks"])
    assert "sysctl -w user.max_user_namespaces=10000" in found["require"]
    assert found["auto"] == "taken, and there is no such repository"


if __name__ == "__main__":
    print(json.dumps(anyio.run(said, Path(sys.argv[1]))))
