"""An agent that may not do all it wants, and asks: on a screen that nobody looks at."""

from pathlib import Path
from typing import Any

from supervisor.model import event as ev
from tests.daemon.sandbox import running
from tests.scripted.office import Part, Program, office, publish
from tests.scripted.plays import Turn

ASKS = Part(
    "asking",
    (
        Turn("I need a package for that.", "curl -s http://127.0.0.1:9/package"),
        Turn("Then I do without it.", publish()),
        Turn("Done."),
    ),
)


async def what_it_asks_is_answered_with_no_and_it_goes_on(folder: Path, program: Program, **profile: Any) -> None:
    """The dialog is closed by a no, never by the yes that a bare Return would mean; then it hears why."""
    asking = office(folder, [ASKS], program=program, on_parked="deny", retries=0, **profile)
    async with asking as (made, _), running(made) as here:
        await here.submit()
        await here.finished(timeout=400)

        assert here.of(ev.JobParked)
        # On a busy machine it may be told once more before it has begun with what it was told.
        assert [event.reason for event in here.of(ev.NudgeStarted)][:1] == ["parked"]
        assert all(event.delivered for event in here.of(ev.AgentNudged))
        # It is seen to go on, unless it has published before the next look.
        assert here.of(ev.JobUnparked) or here.of(ev.WorkPublished)
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["clean"]
