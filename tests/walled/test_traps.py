"""What an agent lays for those who work on its files from outside: mngr, the daemon, and the shell in its pane."""

from pathlib import Path

import pytest

from supervisor.errors import DeviceFailed
from supervisor.model import event as ev
from supervisor.ports import AgentAddress
from tests.daemon.sandbox import Running
from tests.waiting import until
from tests.walled.agents import PUBLISH, attacking

pytestmark = [pytest.mark.real, pytest.mark.timeout(200)]

BOTH = ("require", "off")
KEPT = "nobody may change it"

#: mngr opens the one to lock it, which empties it, and it has a place for the other
LINKS = """
for name in ("message.lock", "activity/user"):
    def lay():
        place = state / name
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(os.environ["VICTIM"] + place.name)
    tried(name, lay)
def smuggle():
    away = pathlib.Path(os.environ["TMPDIR"]) / "activity"
    away.mkdir()
    (away / "user").symlink_to(os.environ["VICTIM"] + "user")
    os.rename(away, state / "activity.new")
tried("smuggled", smuggle)
tried("pipe", lambda: os.mkfifo(state / "data.json.new"))
tell()
time.sleep(600)
"""


@pytest.mark.parametrize("agent_walls", BOTH)
async def test_no_link_leads_mngr_out_of_the_agents_places(tmp_path: Path, agent_walls: str) -> None:
    victim = tmp_path / "victim-message.lock"
    victim.write_text(KEPT)
    victim.chmod(0o666)
    env = {"VICTIM": str(tmp_path / "victim-")}
    async with attacking(tmp_path, LINKS, agent_walls=agent_walls, env=env) as (made, here):
        found = await made.told()
        await until("it is live", here.live)
        await talked_to(here)
        is_kept = victim.read_text() == KEPT

    assert is_kept is (agent_walls == "require")
    if agent_walls == "require":
        assert found == {
            "message.lock": "PermissionError",
            "activity/user": "PermissionError",
            "smuggled": "OSError",
            "pipe": "PermissionError",
        }


async def talked_to(here: Running) -> None:
    [attempt] = here.live()
    try:
        await here.devices.agents.message(AgentAddress.of(attempt), "go on")
    except DeviceFailed:
        return


#: characters for the shell that will read from the pane once the agent has ended
TYPES = """
def type_into(number):
    for each in "\\ntouch $VICTIM\\n":
        fcntl.ioctl(number, termios.TIOCSTI, each.encode())
tried("own", lambda: type_into(0))
tell()
"""


@pytest.mark.parametrize("agent_walls", BOTH)
async def test_nothing_is_typed_into_the_shell_of_the_pane(tmp_path: Path, agent_walls: str) -> None:
    if not can_type():
        pytest.skip("this kernel lets nobody type by program")
    victim = tmp_path / "typed"
    async with attacking(
        tmp_path, TYPES, agent_walls=agent_walls, env={"VICTIM": str(victim)}, keep_agents="all"
    ) as (made, here):
        await made.told()
        if agent_walls == "off":
            await until("the shell has run it", victim.exists)
        await here.finished()
        has_run = victim.exists()

    assert has_run is (agent_walls == "off")


def can_type() -> bool:
    asked = Path("/proc/sys/dev/tty/legacy_tiocsti")
    return not asked.exists() or asked.read_text().strip() == "1"


#: git runs these for whoever looks at the clone
FILTERS = """
subprocess.run(["git", "config", "filter.x.clean", "touch $VICTIM; cat"], check=True)
subprocess.run(["git", "config", "core.fsmonitor", "touch $VICTIM"], check=True)
(clone / ".git" / "info" / "attributes").write_text("* filter=x")
(clone / ".git" / "hooks").mkdir(exist_ok=True)
for each in ("post-index-change", "post-checkout", "reference-transaction"):
    (clone / ".git" / "hooks" / each).write_text("#!/bin/sh\\ntouch $VICTIM\\n")
    (clone / ".git" / "hooks" / each).chmod(0o755)
for each in clone.glob("*/*.py"):
    os.utime(each)
"""


@pytest.mark.parametrize("agent_walls", BOTH)
async def test_a_kept_agents_clone_runs_nothing_outside_when_it_is_looked_at(
    tmp_path: Path, agent_walls: str
) -> None:
    victim = tmp_path / "ran"
    async with attacking(
        tmp_path,
        f"{FILTERS}{PUBLISH}",
        agent_walls=agent_walls,
        env={"VICTIM": str(victim)},
        keep_agents="all",
        settings={"keep": {"days": 1e-9}},
    ) as (_, here):
        await here.finished()
        await until("what is left is cleared away", lambda: here.of(ev.ClearingEnded), 60)
        [cleared] = here.of(ev.ClearingEnded)
        agents = (await here.devices.agents.list("local")).agents
        has_run = victim.exists()

    assert (len(cleared.agents), cleared.problems, agents) == (1, (), ())
    assert has_run is (agent_walls == "off")
