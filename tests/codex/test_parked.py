"""The real codex, where its rules let it ask."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.codex.program import PROGRAM, args
from tests.scripted import parked

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

#: It may do all but this unasked.
RULES = """home=$MNGR_AGENT_STATE_DIR/plugin/codex/home/rules
mkdir -p "$home" && echo 'prefix_rule(pattern = ["curl"], decision = "prompt")' >"$home/default.rules\""""
MAY = ("-c", 'approval_policy="on-request"')
ASKING = replace(PROGRAM, args=lambda url: (*args(url), *MAY))


async def test_what_it_asks_is_answered_with_no_by_policy_and_it_goes_on(tmp_path: Path) -> None:
    await parked.what_it_asks_is_answered_with_no_and_it_goes_on(tmp_path, ASKING, setup=RULES)
