"""The real opencode, where its configuration lets it ask."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from tests.opencode.program import PROGRAM
from tests.scripted import parked

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(600)]

ASKS = '{"bash": {"curl *": "ask"}}'
#: opens its screen once it has asked
LATE = """\
#!/bin/sh
case " $* " in *" attach "*) until [ -e "$MNGR_AGENT_STATE_DIR/permissions_waiting" ]; do sleep 0.1; done ;; esac
exec {opencode} "$@"
"""


async def test_what_it_asks_is_answered_with_no_by_policy_and_it_goes_on(tmp_path: Path) -> None:
    await parked.what_it_asks_is_answered_with_no_and_it_goes_on(tmp_path, PROGRAM, env={"OPENCODE_PERMISSION": ASKS})


async def test_what_it_asks_before_its_screen_is_there_is_answered_too(tmp_path: Path) -> None:
    """No dialog is shown then, and no key is heard."""
    late = tmp_path / "late" / "opencode"
    late.parent.mkdir()
    late.write_text(LATE.format(opencode=shlex.quote(str(PROGRAM.path.resolve()))))
    late.chmod(0o755)
    asking = replace(PROGRAM, path=late)
    await parked.what_it_asks_is_answered_with_no_and_it_goes_on(tmp_path, asking, env={"OPENCODE_PERMISSION": ASKS})
