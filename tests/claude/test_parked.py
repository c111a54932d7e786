"""A claude that may not do all it wants, and asks: on a screen that nobody looks at."""

from pathlib import Path

import pytest

from supervisor.model import event as ev
from tests.daemon.sandbox import running
from tests.scripted.office import Part, office, publish
from tests.scripted.plays import Turn
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(300)]

#: what it may do unasked: all but this
NOTICED = Part("noticed", (Turn("There is nothing to do.", publish()), Turn("Done.")))
MAY = ["--permission-mode", "default", "--allowedTools", "Bash"]
MAY += ["--settings", '{"permissions": {"ask": ["Bash(curl:*)"]}}']
ASKS = Part(
    "asking",
    (
        Turn("I need a package for that.", "curl -s http://127.0.0.1:9/package"),
        Turn("Then I do without it.", publish()),
    ),
)


async def test_what_it_asks_is_answered_with_no_by_policy_and_it_goes_on(tmp_path: Path) -> None:
    """The dialog is closed by a no, never by the yes that a bare Return would mean; then it hears why."""
    asking = office(tmp_path, [ASKS], agent_args=MAY, on_parked="deny", retries=0)
    async with asking as (made, _), running(made) as here:
        await here.submit()
        await here.finished(timeout=240)

        assert here.of(ev.JobParked)
        assert [event.reason for event in here.of(ev.NudgeStarted)] == ["parked"]
        assert all(event.delivered for event in here.of(ev.AgentNudged))
        assert here.of(ev.JobUnparked)
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["clean"]


async def test_a_dialog_that_mngr_does_not_know_parks_it_too(tmp_path: Path) -> None:
    """Without a mode claude decides itself what it may, and shows a notice about that on its first call."""
    asking = office(tmp_path, [NOTICED], agent_args=[], on_parked="deny", retries=0)
    async with asking as (made, _), running(made) as here:
        await here.submit()
        await until("it is parked", lambda: here.of(ev.JobParked), 120)
        await until("it is told no, and the dialog is gone", lambda: here.of(ev.JobUnparked), 120)
        assert [event.reason for event in here.of(ev.NudgeStarted)][:1] == ["parked"]
        assert here.of(ev.AgentNudged)[0].delivered
