"""The daemon counts what it does: its calls on devices, the stages of jobs, the lag of its loop."""

import re

import pytest

from supervisor.e2e import E2e
from tests.e2e.supervisorctl.stage import Stage


@pytest.mark.timeout(300)
def test_a_batch_leaves_its_traces(e2e: E2e) -> None:
    stage = Stage(e2e)
    try:
        stage.start()
        stage.until_over(stage.submit())
        text = e2e.run("supervisorctl metrics", comment="after a batch").stdout
    finally:
        stage.clear()
    values = {key: float(value) for key, value in re.findall(r"^agent_supervisor_(\S+) (\S+)$", text, re.M)}
    for operation in ("launch", "collect", "verify", "release", "integrate"):
        assert values[f'device_call_duration_seconds_count{{operation="{operation}",result="ok"}}'] >= 1
    for name in ("queued", "launching", "working", "collecting", "verifying", "integrating"):
        assert values[f'stage_duration_seconds_count{{stage="{name}"}}'] >= 1
    assert values["event_loop_lag_seconds_count"] > 1
    jobs = sum(value for key, value in values.items() if key.startswith("jobs_ended_total"))
    assert jobs == sum(value for key, value in values.items() if key.startswith("ledger_rows_total")) > 0
