"""What the daemon takes of a writer's batch, what it tells its agents, and what it shows."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from supervisor.adapters.layout import PROMPT, TASK, Layout
from supervisor.control.client import Answered
from supervisor.e2e.tutorial.writing import Kind, Task
from supervisor.launch.orders import ContractOrders
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.profile import Profile
from supervisor.verification.inspecting import write_advice
from tests.agent_clone import git
from tests.cli.running import ctl
from tests.control.served import served

SEED = Task("seed:3-more", "seed", "tutorial.sh", line=3, text="# more")
STALE = "tests/test_it.py::test_one"
RUN = "env -u TMUX -u TMUX_PANE timeout -k 5 120"


async def test_writers_are_taken_with_a_task_for_each_job(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(SEED.item, role="writer", tasks=[asdict(SEED)])
        found = api.loop.state.batches[batch]
        assert (found.role, json.loads(found.tasks[0])["text"]) == ("writer", "# more")


@pytest.mark.parametrize(
    ("tasks", "why"),
    [
        ([], "task for each job"),
        ([asdict(SEED)] * 2, "task for each job"),
        ([{"item": "seed:3"}], "a task is invalid"),
        ([asdict(SEED) | {"kind": "poem"}], "a task is invalid"),
        ([asdict(SEED) | {"tutorial": "../../etc/passwd"}], "leads out of the repository"),
    ],
)
async def test_tasks_that_can_not_be_used_are_refused(tasks: list[object], why: str, tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        with pytest.raises(Answered, match=why):
            await api.submit(SEED.item, role="writer", tasks=tasks)
        assert not api.loop.state.batches


async def test_a_job_without_a_proposal_is_said_so(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(STALE)
        with pytest.raises(Answered, match="has no proposal"):
            await api.call(lambda client: client.get(f"/v1/jobs/{batch}.1/proposal"))


@pytest.mark.parametrize(
    ("kind", "run"),
    [("seed", ""), ("block", f"{RUN} pytest"), ("stale", f"{RUN} pytest {STALE}")],
)
def test_a_writer_gets_its_task_beside_its_prompt(kind: Kind, run: str, tmp_path: Path) -> None:
    task = Task(f"{kind}:x", kind, "tutorial.sh", tests="tests", test=STALE if kind == "stale" else "")
    profile = Profile(agent="rehearsal", pytest=("pytest",))
    text = json.dumps(asdict(task))
    batch = Batch("b", 1, "/repo", "0" * 40, (task.item,), profile, 0.0, role="writer", tasks=(text,))
    attempt = Attempt(AttemptKey("b", 1, 1), "agent-1", "sv-b-1-1", "local", "local", "", False, 0.0)

    order = ContractOrders(Layout(tmp_path), "c0ffee", None, write_advice).order(batch, attempt)

    assert (order.env["SUPERVISOR_ROLE"], order.env["SUPERVISOR_TEST"]) == ("writer", task.item)
    assert order.env["SUPERVISOR_RUN"] == run
    assert json.loads(order.files[TASK].read_text()) == json.loads(text)
    assert f"`{task.item}`" in order.files[PROMPT].read_text()
    assert order.args[0].endswith("rehearsal_writer.py")


async def test_commands_that_can_not_be_obeyed_end_in_a_sentence(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="fixed") as api:
        script = api.repo / "tutorial.sh"
        script.write_text("# one\nthing one\n")

        async def said(*words: str) -> str:
            done = await ctl(tmp_path, "tutorial", *words, cwd=api.repo)
            done.refused(done.code, "")
            assert done.code in (4, 5)
            return done.err

        assert "uncommitted work: tutorial.sh" in await said("fill", "tutorial.sh")
        git(api.repo, "add", ".")
        git(api.repo, "commit", "-qm", "a tutorial")
        assert "no seed at line 2" in await said("fill", "tutorial.sh", "--seed", "2")
        assert "there is no batch nosuch" in await said("fill", "tutorial.sh", "--review", "nosuch")
        assert "is not a job" in await said("fill", "tutorial.sh", "--accept", "nosuch")
        batch = await api.submit(STALE)
        assert "has no tests to take" in await said("sync", "tutorial.sh", "--accept", batch)
        nothing = await ctl(tmp_path, "--json", "tutorial", "fill", "tutorial.sh", cwd=api.repo)
        assert nothing.json == {"schema_version": 1, "batch": None, "jobs": 0, "changed": False}
        usage = await ctl(tmp_path, "tutorial", "sync", "tutorial.sh", cwd=api.repo)
        assert (usage.code, "--tests" in usage.err) == (2, True)
