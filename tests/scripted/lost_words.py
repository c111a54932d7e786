"""An agent whose first words are lost, as by a restart that interrupts its launch."""

import shlex
from pathlib import Path

from supervisor.model import event as ev
from tests.daemon.sandbox import running
from tests.scripted.batches import CLEAN, RUNS
from tests.scripted.office import MNGR, Part, Program, office
from tests.scripted.plays import Turn

#: mngr, but for the message of an agent that it creates
FORGETS = """\
#!/bin/bash
verb=$1 words=()
while [ $# -gt 0 ]; do
  if [ "$verb" = create ] && [ "$1" = --message-file ]; then shift; else words+=("$1"); fi
  shift
done
exec {mngr} "${{words[@]}}"
"""
#: It also ends a turn without having published.
FORGETFUL = Part("forgetful", (RUNS, Turn("All is well."), *CLEAN[1:]))


async def it_is_told_to_begin_and_reminded_like_any_other(folder: Path, program: Program) -> None:
    async with office(folder, [FORGETFUL], program=program, retries=0) as (made, _):
        mngr = folder / "bin" / "mngr"
        mngr.unlink()
        mngr.write_text(FORGETS.format(mngr=shlex.quote(str(MNGR.resolve()))))
        mngr.chmod(0o755)
        made.settings["mngr"]["warm"] = False  # a wrapper has no interpreter of mngr's
        async with running(made) as here:
            await here.submit()
            await here.finished(timeout=400)

            # mngr says a message twice at times: then it need not be reminded.
            assert [event.reason for event in here.of(ev.NudgeStarted)] in (["unheard"], ["unheard", "waiting"])
            assert [event.outcome for event in here.of(ev.JobEnded)] == ["clean"]
            assert not here.of(ev.AgentStalled)
