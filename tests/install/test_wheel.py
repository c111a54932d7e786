"""Who has the wheel, and mngr in an environment of its own, has the product: nothing of the repository is needed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor import __version__
from supervisor.rehearsal import lay_out
from tests.install.building import built
from tests.install.machine import Machine, machine
from tests.shape.sources import ROOT

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(1800)]

TEST = "tests/e2e/test_tags.py::test_list_by_tag"
CONFIG = """
[mngr]
list_seconds = 5

[profiles.default]
agent = "rehearsal"
keep_agents = "none"
pytest = ["{python}", "-m", "pytest", "-q"]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(params=["uv", "pipx"])
def installed(request: pytest.FixtureRequest, wheel: Path) -> Iterator[Machine]:
    with machine() as made:
        made.install(request.param, wheel)
        yield made


def test_an_installed_wheel_is_all_that_is_needed(installed: Machine, request: pytest.FixtureRequest) -> None:
    assert installed.run("supervisorctl", "--version") == f"supervisorctl {__version__}\n"
    assert installed.run("supervisord", "--version") == f"supervisord {__version__}\n"
    place = installed.run(installed.python(), "-c", "import supervisor; print(supervisor.__file__)")
    assert not Path(place).is_relative_to(ROOT)

    _gets_mngr(installed, as_doctor_says="uv" in request.node.name)

    shown = installed.run("supervisorctl", "demo", TEST)
    assert re.search(r"^ +1 +(fixed|improved|clean)", shown, re.M), shown

    _works_on_a_batch(installed)


def _gets_mngr(installed: Machine, *, as_doctor_says: bool) -> None:
    """What is missing is told with the command that installs it, and that command does."""
    missing = installed.finding("mngr", code=1)
    assert missing["state"] == "problem"
    command = re.search(r"`(uv tool install .*?)`", missing["hint"])
    assert command is not None, missing
    if as_doctor_says:
        installed.type(command[1])
    else:
        installed.lend_mngr()
    assert installed.finding("mngr", code=0)["state"] == "ok"


def _works_on_a_batch(installed: Machine) -> None:
    repo, config = installed.home / "pantry", installed.home / "config.toml"
    lay_out(repo)
    config.write_text(CONFIG.format(python=installed.python()))
    with installed.daemon(config):
        batch = installed.run("supervisorctl", "submit", TEST, cwd=repo).strip()
        installed.run("supervisorctl", "wait", batch)
        assert "submitted   1: 1 improved" in installed.run("supervisorctl", "report", batch)
    assert f"supervisor/{batch}" in installed.run("git", "branch", "--list", "supervisor/*", cwd=repo)
