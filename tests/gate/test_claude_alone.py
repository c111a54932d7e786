"""The real claude, by itself, with a scripted model behind the gate."""

import asyncio
import os
from contextlib import closing
from pathlib import Path

import pytest

from supervisor.gate.counts import Counts
from supervisor.gate.keys import Keys
from supervisor.gate.server import opened
from supervisor.gate.sharing import folder_of
from supervisor.gate.tokens import NONE
from supervisor.kinds.claude import UNATTENDED
from tests.gate.gates import ATTEMPT, BOTH, PURSE, REAL_KEY, terms
from tests.scripted.messages import Messages
from tests.scripted.office import CLAUDE
from tests.scripted.plays import Turn, serving

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

PLAY = {"one": (Turn("I see.", "true", refuses=(529, 2)), Turn("Done.", refuses=(429, 1)))}
#: it would not try again by itself
PATIENCE = {"CLAUDE_CODE_MAX_RETRIES": "0"}


async def test_it_notices_nothing_of_refusals_and_is_counted_to_the_token(tmp_path: Path) -> None:
    with serving(PLAY, Messages) as model, closing(Keys(folder_of(tmp_path / "state"))) as keys:
        key = keys.issue(ATTEMPT, BOTH, [PURSE])
        async with opened(terms(tmp_path, model.url, hold=60)) as gate:
            prompt = "Your task is only the test `one`."
            env = {
                **{name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ},
                **UNATTENDED,
                **PATIENCE,
                "HOME": str(tmp_path),
                "IS_SANDBOX": "1",
                "SUPERVISOR_PROMPT": "/dev/null",
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{gate.port}",
                "ANTHROPIC_API_KEY": key,
            }
            argv = [str(CLAUDE), "-p", prompt, "--dangerously-skip-permissions"]
            claude = await asyncio.create_subprocess_exec(
                *argv, env=env, cwd=tmp_path, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
            )
            said, _ = await claude.communicate()

        with closing(Counts(folder_of(tmp_path / "state"))) as counts:
            taken = sum((row.tokens for row in counts.taken()), NONE)
            assert {row.unknown for row in counts.taken()} == {0}
        assert (claude.returncode, said.decode().strip()) == (0, "Done.")
        assert model.refused["one", 1] == 3
        told = {"input": taken.input + taken.cache_write, "output": taken.output, "cached": taken.cache_read}
        assert told == model.taken()
        assert REAL_KEY not in said.decode()
