"""The promises hold where siblings are held, too: no order of events holds a job for ever."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from supervisor.model import request as rq
from supervisor.model.profile import Profile
from tests.flow.test_promises import Promises
from tests.flow.world import numbered
from tests.properties import examples, is_long

profiles = st.builds(
    Profile,
    survey=st.just("full"),
    hold_siblings=st.just(True),
    pools=st.sampled_from([("local",), ("cloud", "local")]),
    retries=st.integers(0, 1),
    budget_tokens=st.sampled_from([0, 0, 4]),
    canaries=st.sampled_from([0, 3]),
    breaker_jobs=st.sampled_from([0, 2]),
    integrate_share=st.sampled_from([0.0, 0.5]),
    window=st.sampled_from(["", "", "11:59-12:01"]),
    verify_group=st.sampled_from([1, 32]),
)


class Families(Promises):
    """At last everyone behaves, and then each batch ends."""

    @rule(batch=st.sampled_from(["a", "b", "c"]), tests=st.integers(3, 12), files=st.integers(1, 3), profile=profiles)
    def submits_a_family(self, batch: str, tests: int, files: int, profile: Profile) -> None:
        if not self.historian.finished[batch]:
            self.ask(rq.Submit(batch, "/repo", "base", numbered(tests, files), profile))


TestFamilies = pytest.mark.timeout(1200)(Families.TestCase)
TestFamilies.settings = settings(
    max_examples=examples(2), stateful_step_count=80 if is_long() else 40, suppress_health_check=list(HealthCheck)
)
