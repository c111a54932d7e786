"""The real codex, where its rules let it ask."""

import shlex
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


#: opens its screen once it has asked: mngr has left by then, who would have trusted its hooks
LATE = """\
#!/bin/sh
case " $* " in
*" resume "*) until grep -qs curl "$MNGR_AGENT_STATE_DIR/logs/codex_transcript/events.jsonl"; do sleep 0.1; done ;;
esac
exec {codex} "$@"
"""


async def test_what_it_asks_before_its_screen_is_there_is_answered_too(tmp_path: Path) -> None:
    late = tmp_path / "late" / "codex"
    late.parent.mkdir()
    late.write_text(LATE.format(codex=shlex.quote(str(PROGRAM.path.resolve()))))
    late.chmod(0o755)
    asking = replace(ASKING, path=late)
    await parked.what_it_asks_is_answered_with_no_and_it_goes_on(tmp_path, asking, setup=RULES)
