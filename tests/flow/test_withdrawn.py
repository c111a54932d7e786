"""A stop that is due and has lost its reason is not due any more."""

from supervisor.model import event as ev
from supervisor.model.effect import Launch
from supervisor.model.survey import Surveyed
from tests.flow.world import World


def test_a_base_that_proves_sound_in_the_same_moment_stops_nothing() -> None:
    world = World(local=1).submit(tests=6, files=3).do(Launch)
    now = world.now
    world.record(ev.SurveyStarted(now, "b", 1, ("tests/test_1.py", "tests/test_2.py")))
    world.record(ev.SurveyStarted(now, "b", 2, ("tests/test_3.py",)))
    world.record(ev.SurveyEnded(now, "b", 1, Surveyed(red=4, cause="no module", sample="no module")))
    assert ("stop", "b") in world.state.agenda.times
    world.record(ev.SurveyEnded(now, "b", 2, Surveyed(green=2)))
    assert ("stop", "b") not in world.state.agenda.times
    assert not world.catch_up().batch().stop.reason
