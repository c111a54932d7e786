"""Trials in a remote pool: what they tell is what trials here tell, and who answers otherwise is not believed."""

import base64
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import pytest
from anyio import create_task_group

from supervisor.errors import DeviceFailed, MngrFailed
from supervisor.ports import ExecResult
from supervisor.verification.evidence.inquiry import reaching
from supervisor.verification.evidence.laying import Content
from supervisor.verification.evidence.lies import LIES, Telling
from supervisor.verification.evidence.seen import read_seen
from supervisor.verification.remote.exchange import Answer, answered, checked
from supervisor.verification.trials.asking import Unready
from supervisor.verification.trials.running import walls_lack
from supervisor.verification.trials.runs import Instruments, Run
from tests.verification.arena import DOUBLE, TEXT, arena
from tests.verification.faraway import Faraway, Tampering

FIXED = "def double(n):\n    return n + n\n"


def changed(**fields: Any) -> Tampering:
    """An answer with other fields than it had."""

    def tampering(printed: str) -> ExecResult:
        answer = json.loads(zlib.decompress(base64.b64decode(printed)))
        return said(json.dumps({**answer, **fields}).encode())

    return tampering


def said(text: bytes) -> ExecResult:
    return ExecResult(base64.b64encode(zlib.compress(text)).decode(), "", success=True)


def _vanishes(printed: str) -> ExecResult:
    raise MngrFailed("there is no such agent", reason="no-such-agent")


def _hangs(printed: str) -> ExecResult:
    raise MngrFailed("`mngr exec` gave no answer within 60 s and was killed.", reason="timeout")


LIARS: dict[str, Tampering] = {
    "another tree": changed(tree="0" * 40),
    "another question": changed(nonce="0" * 32),
    "no run": changed(runs=[]),
    "more runs": changed(runs=[{}, {}]),
    "endless seconds": changed(runs=[{"seconds": 1e300}]),
    "another type": changed(runs="all passed"),
    "no JSON": lambda printed: said(b"all passed"),
    "no archive": lambda printed: ExecResult("all passed", "", success=True),
    "cut": lambda printed: ExecResult(printed[: len(printed) // 2 // 4 * 4], "", success=True),
    "enormous": lambda printed: ExecResult("A" * (13 * 2**20), "", success=True),
    "a bomb": lambda printed: said(b" " * (200 * 2**20)),
    "deep": lambda printed: said(b"[" * 100_000),
    "an error": lambda printed: ExecResult("", "no python3", success=False),
    "vanishes": _vanishes,
    "hangs": _hangs,
}


HONEST = {"nonce": "n", "tree": "t" * 40, "prepared": "s", "stamp": "s", "runs": [{"code": 0, "seconds": 1.5}]}


@pytest.mark.parametrize("liar", LIARS)
def test_an_answer_that_no_honest_verifier_gives(liar: str) -> None:
    with pytest.raises(DeviceFailed):
        _told(LIARS[liar](said(json.dumps(HONEST).encode()).stdout))
    assert _told(said(json.dumps(HONEST).encode())).runs[0].seconds == 1.5


def _told(printed: ExecResult) -> Answer:
    if not printed.success:
        raise DeviceFailed(printed.stderr)
    return checked(answered(printed.stdout, Answer, "n"), "t" * 40, 1)


async def test_a_run_there_is_a_run_here(tmp_path: Path) -> None:
    """The same cases, session, command and environment, but for the paths; twice, in fresh copies."""
    async with arena(tmp_path) as here:
        far, head = Faraway(tmp_path, here.store), here.commit({"app.py": FIXED})
        async with here.trials.trial(here.batch(), head, "here") as trial:
            near = await trial.run(DOUBLE)
        async with far.trials.trial(here.batch(), head, "there") as trial_there:
            runs = await trial_there.run_again(DOUBLE, 2, 1)
        async with far.trials.trial(here.batch(), here.base, "base") as trial_there:
            [base] = [await trial_there.run(DOUBLE)]

    assert [run.why_not for run in runs] == [near.why_not] * 2 == ["", ""]
    assert runs[0].cases == near.cases
    assert runs[0].session is not None
    assert near.session is not None
    assert (runs[0].session.args, runs[0].session.rootdir) == (near.session.args, near.session.rootdir)
    assert runs[0].session.modules == near.session.modules
    assert base.why_not == "it fails: assert 5 == 4 (test_app.py:5)"
    assert far.agents.asked == 2, "several runs go by one question"
    assert len(far.agents.orders) == 1


@pytest.mark.parametrize("liar", ["another tree", "enormous", "vanishes", "hangs"])
async def test_who_vanishes_hangs_or_lies_costs_a_run_and_nothing_else(tmp_path: Path, liar: str) -> None:
    async with arena(tmp_path) as here:
        far = Faraway(tmp_path, here.store)
        far.agents.tampering = [LIARS[liar]]
        async with far.trials.trial(here.batch(), here.commit({"app.py": FIXED}), "there") as trial:
            run = await trial.run(DOUBLE)

    assert run.passed, run.why_not
    assert len(trial.runs) == 1
    assert len(far.agents.orders) == 2
    assert len(far.verifiers.live) == 1


async def test_who_is_never_believed_is_told_of(tmp_path: Path) -> None:
    async with arena(tmp_path) as here:
        far = Faraway(tmp_path, here.store)
        far.agents.tampering = [changed(tree="0" * 40)] * 3
        with pytest.raises(DeviceFailed, match="no verifier in the pool far gave an answer that can be believed, 3"):
            async with far.trials.trial(here.batch(), here.base, "there") as trial:
                await trial.run(DOUBLE)


async def test_who_reports_in_pytests_name_is_seen(tmp_path: Path) -> None:
    forged = {"records": ['{"nonce": "x", "kind": "end"}'], "is_connected": True}
    async with arena(tmp_path) as here:
        far = Faraway(tmp_path, here.store)
        far.agents.tampering = [changed(runs=[{"code": 0, "heard": forged}])]
        async with far.trials.trial(here.batch(), here.base, "there") as trial:
            run = await trial.run(DOUBLE)

    assert run.why_not == "pytest ended with 0 and no report"
    assert run.report.is_forged


async def test_a_provider_that_is_away_is_waited_for(tmp_path: Path) -> None:
    """That is nobody's lie, however often it happens."""
    async with arena(tmp_path) as here:
        far = Faraway(tmp_path, here.store)

        def away(printed: str) -> ExecResult:
            far.agents.set_down("pool")
            far.agents.looks_until_back = 1
            raise MngrFailed("the connection was lost", reason="provider")

        far.agents.tampering = [away] * 4
        async with far.trials.trial(here.batch(), here.base, "there") as trial:
            run = await trial.run(TEXT)

    assert run.passed
    assert not far.verifiers.problems


async def test_experiments_are_made_there(tmp_path: Path) -> None:
    """Other files, probes and what they note, and programs that lie."""
    files = {"app.py": FIXED, "test_app.py": TESTS, "tool": "#!/bin/sh\necho right\n"}
    async with arena(tmp_path) as here:
        far, head = Faraway(tmp_path, here.store), here.commit({**files})
        async with far.trials.trial(here.batch(), head, "there") as trial:
            seen = await trial.run(DOUBLE, instruments=Instruments(plugins=reaching()))
            broken = await trial.run(
                DOUBLE, instruments=Instruments(files={"app.py": Content(b"def double(n): 1\n")})
            )
            lied = await trial.run(TOOL, instruments=Instruments(liar=Telling("tool", "sh", LIES[1])))
            again = await trial.run(TOOL)
            reached = read_seen(seen.folder / "plugins")
            head_of_tool = await trial.head_of("tool")

    assert reached.lines["app.py"] == {2}
    assert broken.why_not == "it fails: assert None == 4 (test_app.py:6)"
    assert "97" in lied.why_not or "fails" in lied.why_not
    assert again.passed, again.why_not
    assert head_of_tool.startswith(b"#!/bin/sh")


TOOL = "test_app.py::test_tool"
TESTS = (
    "import subprocess\n\nfrom app import double\n\ndef test_double():\n    assert double(2) == 4\n\n\n"
    "def test_tool():\n    assert subprocess.check_output(['sh', './tool']) == b'right\\n'\n"
)


async def test_its_setup_is_run_once(tmp_path: Path) -> None:
    async with arena(tmp_path) as here:
        far = Faraway(tmp_path, here.store)
        made = here.batch(setup="echo made >> made; echo 'def double(n): return 4' > app.py")
        async with far.trials.trial(made, here.base, "there") as trial:
            runs = [await trial.run(DOUBLE) for _ in range(2)]
        broken = here.batch(setup="echo no such thing; exit 3")
        async with far.trials.trial(broken, here.base, "there") as trial:
            with pytest.raises(Unready, match="its setup failed: no such thing"):
                await trial.run(DOUBLE)

    assert all(run.passed for run in runs)


async def test_what_is_tried_there_finds_no_answer_to_forge(tmp_path: Path) -> None:
    """Not the question with its nonce, not the verifier's process, and not the place that runs are copied from."""
    test = (
        "import os\nfrom pathlib import Path\n\n\ndef test_double():\n"
        "    for each in Path('/proc').glob('[0-9]*/cmdline'):\n"
        "        assert b'verifier.pyz' not in each.read_bytes()\n"
        "    assert not list(Path(os.environ['HOME']).parent.glob('prepared'))\n"
    )
    async with arena(tmp_path) as here:
        far, head = Faraway(tmp_path, here.store), here.commit({"test_app.py": test})
        async with far.trials.trial(here.batch(), head, "there") as trial:
            run = await trial.run(DOUBLE)
    assert run.passed, run.why_not


@pytest.mark.skipif(shutil.which("python3.11") is None, reason="there is no Python 3.11 here")
async def test_an_older_python_runs_the_verifier(tmp_path: Path) -> None:
    """Of the host, whatever Python the tests run on; in walls as well."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(str(shutil.which("python3.11")))
    async with arena(tmp_path) as here:
        far = Faraway(tmp_path, here.store)
        far.agents.path = f"{tmp_path / 'bin'}:{far.agents.path}"
        async with far.trials.trial(here.batch(), here.commit({"app.py": FIXED}), "there") as trial:
            run = await trial.run(DOUBLE)
        near = await walls_lack()

    assert run.passed, run.why_not
    assert ("without walls" in trial.log) == bool(near)


async def test_claims_of_a_batch_share_a_verifier(tmp_path: Path) -> None:
    """Also those that ask at the same time; each in a place of its own."""
    async with arena(tmp_path) as here:
        far, head = Faraway(tmp_path, here.store), here.commit({"app.py": FIXED})
        runs: list[Run] = []

        async def tried(sha: str) -> None:
            async with far.trials.trial(here.batch(), sha, "there") as trial:
                runs.append(await trial.run(DOUBLE))

        async with create_task_group() as asking:
            asking.start_soon(tried, head)
            asking.start_soon(tried, here.base)

    assert sorted(run.passed for run in runs) == [False, True]
    assert len(far.agents.orders) == 1
