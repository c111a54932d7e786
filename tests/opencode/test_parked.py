"""The real opencode, where its configuration lets it ask."""

from pathlib import Path

import pytest

from tests.opencode.program import PROGRAM
from tests.scripted import parked

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

ASKS = '{"bash": {"curl *": "ask"}}'


async def test_what_it_asks_is_answered_with_no_by_policy_and_it_goes_on(tmp_path: Path) -> None:
    await parked.what_it_asks_is_answered_with_no_and_it_goes_on(tmp_path, PROGRAM, env={"OPENCODE_PERMISSION": ASKS})
