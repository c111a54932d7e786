"""`doctor --drill` on a box of two pools, one of them an ssh host: told rightly, and nothing is left behind."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.remote.sshd import PROVIDER, Box, boxes
from tests.waiting import until_sync

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

CTL = str(Path(sys.executable).with_name("supervisorctl"))
LIFE = ["launch", "work and publish", "collect", "verify", "branch", "put away"]
DEATHS = ["agent killed", "mngr call killed", "daemon killed"]


@contextmanager
def a_box(folder: Path) -> Iterator[tuple[list[str], Box]]:
    """The command of a drill there, and its ssh host."""
    config, home = folder / "config.toml", folder / "home"
    config.write_text(
        f'state_dir = "{folder}/state"\nsocket = "{folder}/ctl.sock"\n[mngr]\nhome = "{home}"\n'
        '[[pools]]\nname = "local"\nslots = 4\n'
        f'[[pools]]\nname = "far"\nprovider = "{PROVIDER}"\nhosts = ["box1"]\nslots = 4\n'
    )
    with boxes(folder / "ssh", home, "box1") as [host]:
        yield [CTL, "--socket", str(folder / "ctl.sock"), "doctor", "--drill", "--config", str(config)], host


def drills() -> set[Path]:
    return set(Path("/tmp").glob("sv-drill-*"))


def told(done: subprocess.CompletedProcess[str]) -> dict[str, list[dict[str, Any]]]:
    """The steps of each pool."""
    steps: dict[str, list[dict[str, Any]]] = {}
    for step in json.loads(done.stdout)["steps"]:
        steps.setdefault(step["pool"], []).append(step)
    return steps


def test_both_pools_stand_every_death(tmp_path: Path) -> None:
    before = drills()
    with a_box(tmp_path) as (command, host):
        done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, text=True, timeout=500, check=False)
        steps = told(done)
        assert (done.returncode, [step for each in steps.values() for step in each if not step["ok"]]) == (0, [])
        assert [step["name"] for step in steps["local"]] == [step["name"] for step in steps["far"]] == LIFE + DEATHS
        assert [step["name"] for step in steps[""]] == ["daemon starts", "daemon killed", "no agent left"]
        assert not host.state_dirs()
    assert drills() == before


def test_an_ssh_host_that_does_not_answer_is_named_and_the_other_pool_goes_on(tmp_path: Path) -> None:
    before = drills()
    with a_box(tmp_path) as (command, host):
        host.stop()
        done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, text=True, timeout=500, check=False)
        steps = told(done)
    assert done.returncode == 1
    assert [step["name"] for step in steps["local"] if step["ok"]] == LIFE + DEATHS
    [far] = steps["far"]
    assert (far["name"], far["ok"]) == ("launch", False)
    assert "host box1 can't be reached" in far["detail"]
    assert "refused" in far["detail"]
    assert "start the ssh server there" in far["hint"]
    assert all(step["ok"] for step in steps[""])
    assert drills() == before


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    before = drills()
    with (
        a_box(tmp_path) as (command, host),
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as drill,
    ):
        until_sync("an agent lives on the host", lambda: host.state_dirs() or drill.poll() is not None, timeout=120)
        [folder] = drills() - before
        drill.send_signal(signal.SIGINT)
        assert drill.wait(timeout=120) == 130
        assert not host.state_dirs()
        assert not folder.exists()
        assert not [each for each in psutil.process_iter() if str(folder) in " ".join(_words(each))]


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
