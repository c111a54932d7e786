"""`GET /metrics` and the verb."""

from pathlib import Path

from supervisor.model.job import JobState
from tests.cli.running import ctl
from tests.control.served import served
from tests.observe.metrics.lint import families, problems
from tests.waiting import until


async def test_the_daemon_tells_its_metrics(tmp_path: Path) -> None:
    async with served(tmp_path, slots=1) as api:
        api.loop.watch(api.desk.meters.watch)
        await api.submit("tests/test_it.py::test_one", "tests/test_it.py::test_two[c]", batch="k3f9x")
        await until("the first is at work", lambda: api.loop.state.batches["k3f9x"].count(JobState.RUNNING))
        text = await api.call(lambda client: client.text("/metrics"))
        assert list(problems(text)) == []
        assert 'agent_supervisor_jobs{state="running"} 1.0' in text
        assert 'agent_supervisor_events_total{kind="launch-succeeded"} 1.0' in text
        assert 'agent_supervisor_build_info{version="0"} 1.0' in text
        assert "process_resident_memory_bytes" in text


async def test_the_verb_prints_them(tmp_path: Path) -> None:
    async with served(tmp_path):
        ran = await ctl(tmp_path, "metrics")
        assert {family.name for family in families(ran.out + "\n")} >= {"agent_supervisor_jobs"}
        assert "agent_supervisor_jobs" in (await ctl(tmp_path, "metrics", "--json")).json["text"]
        assert (await ctl(tmp_path, "metrics", "--token")).out == "often\n"
