"""Profiles: elsewhere, through the night, and with an agent of one's own."""

from datetime import UTC, datetime, timedelta

import pytest

from supervisor.e2e import E2e, expect
from supervisor.e2e.spawned import Spawned
from tests.e2e.supervisorctl.place import CONFIG, HERE, PATIENCE_SECONDS
from tests.e2e.supervisorctl.stage import Stage

MODAL = """
[[pools]]
name = "modal"
provider = "modal"
slots = 100

[profiles.modal]
inherits = "default"
pools = ["modal"]
"""

OURS = """
cat >> ~/supervisor.toml <<'END'

[profiles.ours]
inherits = "default"
agent = "command"
command = ["our-agent", "--careful"]
END
supervisorctl reload
supervisorctl submit tests/e2e --profile ours
"""


def window(starts_in: int) -> str:
    """Two hours long; the machine's time zone is UTC."""
    start = datetime.now(UTC) + timedelta(hours=starts_in)
    return f"{start:%H:%M}-{start + timedelta(hours=2):%H:%M}"


def test_elsewhere(e2e: E2e, stage: Stage) -> None:
    """The jobs run in the other pool, and nothing else is different.

    Tutorial block:
        # from here to a hundred agents elsewhere is one word
        supervisorctl submit tests/e2e --profile modal
    """
    stage.configure(CONFIG + MODAL)
    stage.start()
    batch = e2e.run("supervisorctl submit tests/e2e --profile modal", comment="on Modal").stdout.strip()
    stage.until_over(batch)
    assert stage.outcomes(batch) == ["improved", "clean", "failed"]
    assert {job["pool"] for job in stage.get(f"/v1/batches/{batch}/jobs")["rows"]} == {"modal"}


def test_a_profile_that_is_not_there(e2e: E2e, shared: None) -> None:
    """The ones that there are, or the nearest of them, are named.

    Tutorial block:
        # from here to a hundred agents elsewhere is one word
        supervisorctl submit tests/e2e --profile modal
    """
    missing = e2e.run("supervisorctl submit tests/e2e --profile modal", comment="not configured")
    expect(missing).to_have_exit_code(5).stderr.to_contain("there is no profile modal", "the profiles are: default")


@pytest.mark.parametrize("starts_in", [-1, 1])
def test_overnight(e2e: E2e, stage: Stage, starts_in: int) -> None:
    """One agent at a time inside the window, none outside; `status` says which it is.

    Tutorial block:
        # one agent at a time through the night: outside its window nothing is launched, what runs may finish
        supervisorctl submit tests/e2e --profile overnight
        supervisorctl status
    """
    stage.configure(CONFIG.replace("22:00-06:00", window(starts_in)))
    stage.start()
    stage.hold("test_hello", "test_goodbye", "test_shout")
    batch = e2e.run("supervisorctl submit tests/e2e --profile overnight", comment="through the night").stdout.strip()
    if starts_in < 0:
        stage.until_running(batch, 1)
    status = e2e.run("supervisorctl status", comment="at night" if starts_in < 0 else "by day")
    state = "running +3 +2 +1 +0" if starts_in < 0 else "outside its window +3 +3 +0 +0"
    expect(status).stdout.to_match(f"^{batch} +{state} +0 +none$")


def test_an_agent_of_ones_own(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """Whatever is on the daemon's PATH, with the arguments that the profile gives it.

    Tutorial block:
        # your own agent: any program that obeys the agent contract (README.md)
        cat >> ~/supervisor.toml <<'END'

        [profiles.ours]
        inherits = "default"
        agent = "command"
        command = ["our-agent", "--careful"]
        END
        supervisorctl reload
        supervisorctl submit tests/e2e --profile ours
    """
    (stage.root / "bin" / "our-agent").symlink_to(HERE / "agent")
    submitted = e2e.run(OURS, comment="our own agent")
    expect(submitted).to_succeed().stdout.to_contain("the new configuration is in force")
    batch = submitted.stdout.split()[-1]
    stage.until_over(batch)
    assert stage.outcomes(batch) == ["improved", "clean", "failed"]


def test_an_agent_that_is_not_installed(e2e: E2e, stage: Stage, daemon: Spawned) -> None:
    """Its jobs are lost, after the retries that the profile allows.

    Tutorial block:
        # your own agent: any program that obeys the agent contract (README.md)
        cat >> ~/supervisor.toml <<'END'

        [profiles.ours]
        inherits = "default"
        agent = "command"
        command = ["our-agent", "--careful"]
        END
        supervisorctl reload
        supervisorctl submit tests/e2e --profile ours
    """
    batch = e2e.run(OURS, comment="which nobody has installed").stdout.split()[-1]
    e2e.env["batch"] = batch
    waited = e2e.run('supervisorctl wait "$batch"', timeout=PATIENCE_SECONDS)
    expect(waited).to_have_exit_code(1).stdout.to_contain("3 lost")
    assert [stage.job(batch, number)["attempts"] for number in (1, 2, 3)] == [2, 2, 2]
