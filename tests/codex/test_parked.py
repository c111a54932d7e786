"""The real codex, where its rules let it ask."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.codex.program import PROGRAM, args
from tests.scripted import parked

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

#: of a repository: it may do all but this unasked
RULES = 'prefix_rule(pattern = ["curl"], decision = "prompt")\n'
MAY = ("-c", 'approval_policy="on-request"')
ASKING = replace(PROGRAM, args=lambda url: (*args(url), *MAY))


async def test_what_it_asks_is_answered_with_no_by_policy_and_it_goes_on(tmp_path: Path) -> None:
    rules = "mkdir -p .codex/rules && printf '%s' '" + RULES + "' >.codex/rules/asks.rules"
    await parked.what_it_asks_is_answered_with_no_and_it_goes_on(tmp_path, ASKING, setup=rules)
