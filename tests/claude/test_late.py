"""A real claude that is not ready in the time that mngr gives it."""

import asyncio
from pathlib import Path

import pytest

from supervisor.model import event as ev
from tests.daemon.sandbox import running
from tests.scripted.office import CLAUDE, Part, office, publish
from tests.scripted.plays import Turn

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(300)]

#: the first one that is started for an agent takes a minute to begin
LATE = """\
#!/bin/sh
case " $* " in *" --session-id "*) [ -e {seen} ] || {{ touch {seen}; sleep 60; }} ;; esac
exec {claude} "$@"
"""


async def test_its_job_goes_again_and_costs_no_retry(tmp_path: Path) -> None:
    clean = (Turn("There is nothing to do.", publish()), Turn("Done."))
    async with office(tmp_path, [Part("one", clean)], retries=0) as (made, _):
        program = tmp_path / "bin" / "claude"
        program.unlink()
        program.write_text(LATE.format(seen=tmp_path / "seen", claude=await asyncio.to_thread(CLAUDE.resolve)))
        program.chmod(0o755)
        async with running(made) as here:
            await here.submit()
            await here.finished(timeout=240)
            assert (tmp_path / "seen").exists()
            [failed] = here.of(ev.LaunchFailed)
            assert (failed.reason, "did not signal readiness" in failed.detail) == ("not-started", True)
            assert [event.counts for event in here.of(ev.JobRequeued)] == [False]
            assert [event.outcome for event in here.of(ev.JobEnded)] == ["clean"]
