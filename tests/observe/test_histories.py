"""Whatever has happened, in whatever order: `why` never says nothing, and what counts events takes all of them."""

import pytest
from hypothesis.stateful import invariant

from supervisor.observe.metrics.exposition import expose
from supervisor.observe.metrics.gauges import Gauges
from supervisor.observe.metrics.meters import Meters
from tests.flow.test_promises import Promises, tried
from tests.observe.metrics.lint import problems
from tests.observe.why.asking import check


class Asked(Promises):
    """The machine that tries the core's promises; somebody asks about everything after every step.

    The meters hear of every event, as the loop tells them: an error of theirs would end the daemon."""

    def __init__(self) -> None:
        super().__init__()
        self.meters = Meters()
        self.world.watchers.append(lambda before, event: self.meters.watch(self.world.state, [event]))

    @invariant()
    def can_be_scraped(self) -> None:
        if len(self.world.events) % 7 == 0:
            text, _ = expose(Gauges(self.world.state, self.world.now), self.meters)
            assert not list(problems(text.decode()))

    @invariant()
    def all_has_a_reason(self) -> None:
        check(self.world.state, self.world.now)


TestAsked = pytest.mark.timeout(1200)(Asked.TestCase)
TestAsked.settings = tried
