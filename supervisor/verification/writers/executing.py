"""Executes a proposed block of a tutorial as a newcomer would type it: alone, in an empty folder, in limited time.

The clone's own `bin` and `.venv/bin` come first on PATH. The block is read by bash, which stops at the first command
that fails; its output is recorded beneath the lines as they were read.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from supervisor.publication.rules.outcome import clean
from supervisor.verification.trials.staging import run_in
from supervisor.verification.trials.trial import Trial
from supervisor.verification.walls.sandbox import ended_for

MAX_COMMAND = 300
_READ = """\
set -eEuo pipefail
trap 'printf "%s\\n" "$BASH_COMMAND" > "$FAILED_COMMAND"' ERR
set -v; . "$BLOCK"
"""


@dataclass(frozen=True, slots=True)
class Execution:
    #: None: it did not end in time
    exit_code: int | None
    #: the command that failed
    failed: str
    output: str
    #: why its walls ended it
    stopped: str = ""

    @property
    def why_not(self) -> str:
        """Why the block can't be kept; "" if it can."""
        if self.stopped:
            return self.stopped
        if self.exit_code is None:
            return "it does not end in time"
        return f"`{self.failed or 'bash'}` fails: exit code {self.exit_code}" if self.exit_code else ""


async def execute(trial: Trial, block: str) -> Execution:
    async with trial.stage() as stage:
        folder = stage.folder / "newcomer"
        desk, script, failed = folder / "desk", folder / "block.sh", folder / "failed"
        desk.mkdir(parents=True)
        script.write_text(f"{block}\n")
        tools = [str(stage.checkout / each) for each in ("bin", ".venv/bin")]
        env = {
            **stage.env,
            "PATH": os.pathsep.join([*tools, stage.env.get("PATH", os.defpath)]),
            "HOME": str(desk),
            "BLOCK": str(script),
            "FAILED_COMMAND": str(failed),
        }
        limit = trial.batch.profile.test_timeout_seconds
        ended = await run_in(replace(stage, env=env), ["bash", "--norc", "-c", _READ], limit, cwd=desk)
        stopped = ended_for(ended.met, trial.batch.profile)
        return Execution(ended.code, _command(failed) if ended.code else "", clean(ended.tail), stopped)


def _command(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return clean(opened.read(4 * MAX_COMMAND).decode(errors="replace"), MAX_COMMAND).strip()
    except OSError:
        return ""
