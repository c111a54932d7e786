"""Each cheat of the suite that can be seen without a run is refused, or is a doubt; honest work is neither."""

from pathlib import Path

import pytest

from supervisor.model.denied import DENIED
from supervisor.verification.rules.doubts import doubts
from supervisor.verification.rules.judged import Doubt
from supervisor.verification.rules.places import Allowed
from supervisor.verification.rules.policy import Breach, breaches
from tests.cheats.case import Case
from tests.cheats.catalog import CHEATS, HONEST
from tests.cheats.judging import base_of, changes_of


def judged(case: Case, folder: Path) -> tuple[list[Breach], list[Doubt]]:
    changes, base = changes_of(case, folder), base_of(case)
    assert changes, "it changes nothing"
    return breaches(changes, case.test, Allowed(deny=DENIED), (case.kind,), base), doubts(changes, case.test, base)


@pytest.mark.parametrize("name", [name for name, case in CHEATS.items() if case.without_runs])
def test_a_cheat_is_seen_without_a_run(name: str, tmp_path: Path) -> None:
    refused, doubted = judged(CHEATS[name], tmp_path)
    assert refused if CHEATS[name].without_runs == "refused" else refused or doubted


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_is_not_refused_and_doubted_only_for_what_it_expects(name: str, tmp_path: Path) -> None:
    """What a run can settle is no doubt yet."""
    refused, doubted = judged(HONEST[name], tmp_path)
    assert refused == []
    unsettled = [each for each in doubted if not each.settled_by]
    assert bool(unsettled) == HONEST[name].changes_expectation


def test_there_is_more_than_one_cheat_of_each_class() -> None:
    classes = [case.of for case in CHEATS.values()]
    assert min(classes.count(each) for each in classes) > 1
    assert sum(bool(case.unknowable) for case in CHEATS.values()) <= 3
