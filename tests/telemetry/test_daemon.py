"""The whole way: a daemon whose configuration names a collector, and what the collector is told of a batch."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.e2e import E2e, expect
from tests.e2e.supervisorctl.stage import Stage
from tests.telemetry.collecting import Collecting, attributes, collecting

SECRET = "Bearer s3cret-of-the-collector"
STEPS = ["attempt", "launch", "work", "collect", "verify"]


@contextmanager
def staged(e2e: E2e, collector: Collecting) -> Iterator[Stage]:
    stage = Stage(e2e)
    headers = {"authorization": "env:OTLP_TOKEN"}
    stage.e2e.env["SUPERVISOR_TELEMETRY"] = json.dumps({"endpoint": collector.url, "headers": headers})
    stage.e2e.env["OTLP_TOKEN"] = SECRET
    try:
        yield stage
    finally:
        stage.clear()


def told(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = stage.get("/v1/status")["telemetry"]
    return found


def remembered(stage: Stage) -> set[str]:
    """The attempts that are under way, as the daemon has last kept it."""
    return set(json.loads((stage.state / "telemetry.json").read_text())["memory"]["attempts"])


def shadowed(folder: Path) -> str:
    """A place of modules that hides the extra, though it is installed."""
    (folder / "opentelemetry" / "proto").mkdir(parents=True)
    (folder / "opentelemetry" / "proto" / "__init__.py").write_text('"""Not the real one."""\n')
    return str(folder)


@pytest.mark.timeout(300)
def test_a_batch_is_told_attempt_by_attempt(e2e: E2e) -> None:
    with collecting() as collector, staged(e2e, collector) as stage:
        daemon = stage.start()
        batch = stage.submit()
        stage.until_over(batch)
        wanted = {batch, *(f"{batch}.{job}" for job in (1, 2, 3))}
        stage.until("all is told", lambda: {_subject(span) for span in collector.spans if _is_root(span)} == wanted)
        metrics = e2e.run("supervisorctl metrics", comment="what was told").stdout
        assert f'agent_supervisor_spans_total{{result="told"}} {float(len(collector.spans))}' in metrics
        assert told(stage)["spans"] == len(collector.spans)
        doctor = e2e.run("supervisorctl doctor", comment="is all well?").stdout
        assert f"{len(collector.spans)} spans were told since the daemon started, 0 were dropped" in doctor
        shown = e2e.run("supervisorctl events --json", comment="no secret in it").stdout
        assert SECRET not in shown + doctor + metrics + daemon.output
    assert {heard.headers["authorization"] for heard in collector.heard} == {SECRET}
    resource = attributes(collector.heard[0].of.resource)
    assert resource["service.name"] == "agent-supervisor"
    assert resource["service.instance.id"]
    for root in (span for span in collector.spans if _is_root(span) and span.name == "attempt"):
        trace = [span for span in collector.spans if span.trace_id == root.trace_id]
        assert [span.name for span in trace] == STEPS
        assert all(step.parent_span_id == root.span_id for step in trace[1:])
        assert all(root.start_time_unix_nano <= step.start_time_unix_nano for step in trace)
        assert all(step.start_time_unix_nano <= step.end_time_unix_nano for step in trace)
        assert all(step.end_time_unix_nano <= root.end_time_unix_nano for step in trace)
        assert abs(root.end_time_unix_nano / 1e9 - time.time()) < 600
        assert attributes(trace[2])["gen_ai.agent.name"] == "claude"
    [integration] = [span for span in collector.spans if span.name == "integrate"]
    roots = {(span.trace_id, span.span_id) for span in collector.spans if _is_root(span)}
    assert integration.links
    assert {(link.trace_id, link.span_id) for link in integration.links} <= roots


@pytest.mark.timeout(300)
def test_a_daemon_that_is_killed_is_followed_by_one_that_goes_on(e2e: E2e) -> None:
    """What is told is told once, and what was under way is told whole."""
    with collecting() as collector, staged(e2e, collector) as stage:
        stage.use_installed()
        stage.agents_home.mkdir(exist_ok=True)
        stage.hold("test_goodbye", "test_shout")
        stage.start()
        batch = stage.submit()
        others = {f"{batch}.{job}/1" for job in (2, 3)}
        stage.until("the first is told, and that is kept", lambda: remembered(stage) == others and collector.heard)
        os.kill(int(e2e.env["daemon"]), signal.SIGKILL)
        stage.until("it is gone", lambda: not stage.has_daemon())
        stage.start()
        stage.release()
        stage.until_over(batch)
        stage.until("all is told", lambda: batch in map(_subject, collector.spans))
    attempts = [span for span in collector.spans if span.name != "integrate"]
    assert sorted(map(_subject, attempts)) == sorted(f"{batch}.{job}" for job in (1, 2, 3) for _ in STEPS)
    assert len({span.span_id for span in attempts}) == 3 * len(STEPS)
    assert [span.status.message for span in attempts if span.status.code and span.name != "attempt"] == []


@pytest.mark.timeout(300)
def test_a_collector_that_hangs_holds_up_neither_work_nor_a_stop(e2e: E2e) -> None:
    with collecting() as collector, staged(e2e, collector) as stage:
        collector.answer(0, 0, 0, 0, 0, 0, 0, 0)
        daemon = stage.start()
        batch = stage.submit()
        stage.until_over(batch)
        stage.until("the collector is asked", lambda: collector.heard)
        assert daemon.stop(grace=60).exit_code == 0
        assert len(collector.heard) == 1, "the daemon is gone before it gave this request up"
        collector.over.set()
        collector.answers.clear()
        stage.start()
        stage.until("it is told after all", lambda: len(collector.heard) > 1 and told(stage)["spans"])
    assert all(_subject(span).startswith(batch) for span in collector.spans)


@pytest.mark.timeout(300)
def test_a_collector_that_is_down_is_said(e2e: E2e) -> None:
    with staged(e2e, Collecting(url="http://127.0.0.1:9")) as stage:
        stage.start()
        stage.until_over(stage.submit())
        stage.until("it is said", lambda: told(stage)["problem"])
        said = "traces can't be told: it can't be reached: ConnectError"
        expect(e2e.run("supervisorctl status", comment="who needs a person?")).stdout.to_contain(said)
        doctor = e2e.run("supervisorctl doctor", comment="what is wrong?")
        assert doctor.stdout.count("it can't be reached: ConnectError") == 1
        assert "see that the collector runs" in doctor.stdout


@pytest.mark.timeout(300)
def test_without_the_extra_everything_says_what_to_install(e2e: E2e, tmp_path: Path) -> None:
    says, hint = "the extra `otel` is not installed", "install agent-supervisor[otel]"
    with collecting() as collector, staged(e2e, collector) as stage:
        stage.use_installed()
        assert says not in e2e.run("supervisorctl config check", comment="it is installed").stdout
        e2e.env["PYTHONPATH"] = shadowed(tmp_path / "modules")
        check = e2e.run("supervisorctl config check", comment="now it is not").stdout
        assert "the configuration is valid" in check
        assert says in check
        assert hint in check
        [warning] = json.loads(e2e.run("supervisorctl config check --json", comment="for programs").stdout)[
            "warnings"
        ]
        assert says in warning
        daemon = stage.start()
        assert told(stage)["problem"]
        assert says in daemon.output
        assert says in e2e.run("supervisorctl status", comment="it works without").stdout
        doctor = e2e.run("supervisorctl doctor", comment="what is missing?").stdout
        assert says in doctor
        assert hint in doctor
        stage.until_over(stage.submit())
    assert collector.heard == []


def test_nobody_imports_the_extra_who_did_not_ask_for_it() -> None:
    """Neither the command line nor a daemon without `[telemetry]`; and of us only one module does."""
    script = "import sys, supervisor.cli.main, supervisor.serving; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in loaded if name.startswith(("opentelemetry.proto", "google."))]
    assert "supervisor.adapters.telemetry.telling" in loaded


def _is_root(span: Any) -> bool:
    return not span.parent_span_id


def _subject(span: Any) -> str:
    said = attributes(span)
    return str(said.get("agent_supervisor.job", said["agent_supervisor.batch"]))
