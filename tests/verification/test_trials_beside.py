"""Several runs of one trial at the same time."""

import json
from pathlib import Path

import anyio

from supervisor.verification.evidence.laying import Content
from supervisor.verification.trials.runs import PLAIN, Instruments, Run
from tests.verification.arena import Files, arena

#: waits for the other run, and says where it is and what its environment holds
MEETING = """\
import json, os, time
from pathlib import Path

with open({into!r}, "a") as file:
    print(json.dumps([os.getcwd(), *sorted(os.environ)]), file=file)
deadline = time.monotonic() + 60
while len(Path({into!r}).read_text().splitlines()) < 2 and time.monotonic() < deadline:
    time.sleep(0.01)
Path("left").touch(exist_ok=False)
"""


async def test_runs_at_the_same_time_find_the_same_places_and_not_each_other(tmp_path: Path) -> None:
    """Also one in which files of the work are replaced by those of a view: nothing tells it from the other."""
    into = tmp_path / "notes" / "seen"
    tests = f"import app\n\n\ndef test_met():\n    assert len(open({str(into)!r}).readlines()) == 2\n"
    app, found = MEETING.format(into=str(into)), dict[str, Run]()

    async def run(name: str, instruments: Instruments) -> None:
        found[name] = await trial.run("test_app.py::test_met", instruments=instruments)

    work: Files = {"app.py": app}
    files: Files = {"app.py": "raise SystemError\n", "test_app.py": tests}
    async with arena(tmp_path, files) as here, here.trial(work) as trial, anyio.create_task_group() as runs:
        runs.start_soon(run, "plain", PLAIN)
        runs.start_soon(run, "view", Instruments(view={"app.py": Content(f"{app}# another\n".encode())}))

    assert [found[name].why_not for name in ("plain", "view")] == ["", ""]
    one, other = [json.loads(line) for line in into.read_text().splitlines()]
    assert one == other
