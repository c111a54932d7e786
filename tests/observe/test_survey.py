"""What the base came to, in `status`, `follow` and the report."""

import json
from io import StringIO

from supervisor.cli.following import Pace, _picture
from supervisor.cli.looking import _queue_text, batch_text
from supervisor.cli.printing import event_line
from supervisor.model import event as ev
from supervisor.model.effect import Launch, RunAtBase
from supervisor.model.profile import Profile
from supervisor.model.survey import Surveyed
from supervisor.observe.report import as_data
from supervisor.observe.report_fold import report
from supervisor.observe.report_history import history, rebuilt
from supervisor.observe.report_html import html
from supervisor.observe.report_text import text
from supervisor.observe.snapshot import queue, status
from supervisor.observe.stream import as_data as as_event
from supervisor.observe.survey import in_words
from supervisor.ports import Record
from tests.flow.world import World

FOUND = Surveyed(
    green=31,
    red=2,
    flaky=1,
    skipped=3,
    red_tests=("t.py::test_r",),
    flaky_tests=("t.py::test_f",),
    setup_seconds=41.2,
)


def surveyed(found: Surveyed = FOUND, files: int = 1) -> World:
    world = World(local=1, verify_slots=1).submit(tests=4, files=files, profile=Profile(survey="full")).do(Launch)
    [group] = world.pending(RunAtBase)
    return world.answer(group, ev.SurveyEnded(world.now, "b", group.number, found))


def test_it_is_counted() -> None:
    world = surveyed()
    data = status(world.batch(), world.now)["batch"]
    assert data["survey"]["green"] == 31
    assert data["survey"]["red_tests"] == ["t.py::test_r"]
    assert "  the base    31 green, 2 red, 1 flaky, 3 skipped; setup 41 s\n" in batch_text(data)


def test_follow_shows_it() -> None:
    from rich.console import Console

    world = surveyed()
    data = queue(world.state, world.now)
    pace = Pace()
    pace.look(0.0, 0)
    console = Console(record=True, width=120, file=StringIO())
    console.print(_picture(data["batches"][0], data["pools"], pace, []))
    assert "base     31 green, 2 red" in console.export_text()


def test_while_it_is_under_way_its_files_are_counted() -> None:
    data = queue((world := surveyed(files=4)).state, world.now)
    assert data["verify"] == {"slots": 1, "busy": 1, "claims": 0, "waiting": 0, "at_base": 1}
    assert "; 1 file at the base" in _queue_text(data)
    assert data["batches"][0]["survey"]["surveyed"] == 1
    assert "; 1 of 4 files so far" in batch_text(data["batches"][0])


def test_without_one_nothing_is_said() -> None:
    world = World(local=1).submit()
    data = status(world.batch(), world.now)["batch"]
    assert data["survey"] is None
    assert "the base" not in batch_text(data)
    assert in_words(None) == in_words({"surveyed": 0}) == ""


def test_the_report_has_it_in_each_form() -> None:
    world = surveyed()
    made = report(world.batch(), history(world.events, world.now), {}, world.now)
    assert "  the base    31 green, 2 red, 1 flaky, 3 skipped; setup 41 s\n" in text(made)
    assert "FLAKY AT THE BASE\n  t.py::test_f" in text(made)
    assert "31 green, 2 red" in html(made)
    assert as_data(made)["survey"]["red"] == 2


def test_a_batch_that_left_memory_has_it_too() -> None:
    world = surveyed()
    batch = world.batch()
    world.run()
    events = [event for event in world.events if getattr(event, "batch", "") == "b"]
    assert rebuilt("b", events).survey.found == batch.survey.found


def test_its_events_are_told_as_json_and_as_lines() -> None:
    events = [event for event in surveyed().events if isinstance(event, ev.SurveyStarted | ev.SurveyEnded)]
    told = [json.loads(json.dumps(as_event(Record(seq, event)), allow_nan=False)) for seq, event in enumerate(events)]
    assert [each["kind"] for each in told] == ["survey-started", "survey-ended"]
    assert told[1]["found"]["red_tests"] == ["t.py::test_r"]
    assert "at the base: tests/test_it.py" in event_line(told[0])
    assert "31 green, 2 red" in event_line(told[1])
