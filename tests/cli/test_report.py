"""`supervisorctl report`: as text, as JSON and as a page, of a batch that runs and of one that is sealed."""

import json
from pathlib import Path

from supervisor.adapters.layout import Layout
from supervisor.model.attempt import AttemptKey
from tests.agent_clone import GOOD_OUTCOME
from tests.cli.running import ctl
from tests.control.served import Served, served
from tests.waiting import until

TESTS = ["tests/test_it.py::test_one", "tests/test_it.py::test_two[a b]", "tests/test_it.py::test_two[c]"]
#: looks like one
TOKEN = "ghp_" + "a1" * 18


def publish(home: Path, key: AttemptKey, **outcome: object) -> None:
    folder = Layout(home / "state").attempt(key) / "published"
    (folder / "artifacts").mkdir(parents=True)
    (folder / "artifacts" / "run.cast").write_text("{}")
    (folder / "outcome.json").write_text(json.dumps(GOOD_OUTCOME | outcome))


async def sealed(api: Served, batch: str) -> None:
    await api.finish(batch)
    await until("the batch is sealed", lambda: batch not in api.loop.state.batches)


async def test_a_report_is_there_while_the_batch_runs(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        ran = await ctl(tmp_path, "report")
        assert (ran.code, ran.out.splitlines()[0].split(",")[0]) == (0, f"batch {batch}: running")
        assert "submitted   3: 3 working" in ran.out
        assert f"- It is not over: `supervisorctl follow {batch}` shows its progress." in ran.out


async def test_a_report_of_a_sealed_batch_says_what_its_agents_said(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        publish(tmp_path, AttemptKey(batch, 1, 1), summary_markdown=f"It was racy.\n\x1b[31mThe key is {TOKEN}.")
        await sealed(api, batch)
        ran = await ctl(tmp_path, "report", batch[:4])
        assert "FIXED (3)" in ran.out
        assert "    It was racy. The key is [secret]." in ran.out
        assert f"  branch      supervisor/{batch}" in ran.out
        assert "\x1b" not in ran.out
        data = (await ctl(tmp_path, "report", batch, "--json")).json
        assert (data["schema_version"], data["submitted"], data["counts"]["fixed"]) == (1, 3, 3)
        assert data["batch"]["state"] == "finished"
        assert (data["jobs"][0]["told_in"], data["jobs"][0]["artifacts"]) == (1, ["run.cast"])
        assert [job["told_in"] for job in data["jobs"][1:]] == [0, 0]


async def test_the_page_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        ran = await ctl(tmp_path, "report", batch, "--html", "here.html", "--json")
        assert ran.json == {"schema_version": 1, "batch": batch, "html": "here.html"}
        assert TESTS[0] in (tmp_path / "here.html").read_text()
        (await ctl(tmp_path, "report", "--html", "nowhere/here.html")).refused(4, "can't be written")


async def test_there_is_no_report_of_what_never_was(tmp_path: Path) -> None:
    async with served(tmp_path):
        (await ctl(tmp_path, "report")).refused(5, "there is no batch yet")
        (await ctl(tmp_path, "report", "nobody")).refused(5, "there is no batch nobody")
