"""The whole daemon asks a provider for hosts at its rate, on a stand-in for mngr that refuses some."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from supervisor.model import event as ev
from supervisor.model.rate import Rate
from supervisor.model.state import State
from tests.daemon.sandbox import Sandbox, box, running
from tests.waiting import until

STUB = Path(__file__).parents[1] / "stubs" / "mngr"
CLOUD = {"name": "cloud", "provider": "modal", "slots": 6, "agents_per_host": 1, "build_args": ["--timeout=7200"]}


def rate(state: State) -> Rate:
    return state.rates["modal"]


def calls(made: Sandbox, verb: str) -> list[list[str]]:
    log = made.configuration.mngr_home / ".mngr" / "stub" / "calls.jsonl"
    argvs = [json.loads(line)["argv"] for line in log.read_text().splitlines()]
    return [argv for argv in argvs if argv[0] == verb]


def goes_wrong(made: Sandbox, *rules: dict[str, Any]) -> None:
    folder = made.configuration.mngr_home / ".mngr" / "stub"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"providers": ["modal"]}))
    (folder / "faults.json").write_text(json.dumps(rules))


async def test_a_provider_that_refuses_is_asked_less_often_and_a_restart_knows_it(tmp_path: Path) -> None:
    settings = {
        "mngr": {"command": str(STUB), "warm": False, "list_seconds": 1},
        "pools": [CLOUD | {"launch_rate": 4}, {"name": "local", "slots": 0}],
    }
    profile = {"pools": ["cloud"], "transfer": "git-mirror"}
    async with box(tmp_path, jobs=4, settings=settings, profile=profile) as made:
        goes_wrong(made, {"verb": "create", "do": "too-fast", "nth": [1]})
        async with running(made) as here:
            await here.submit()
            await until("the rate is lowered", lambda: here.of(ev.LaunchRateChanged))
            assert [event.reason for event in here.of(ev.LaunchFailed)] == ["rate"]
            assert rate(here.state).per_second == 2
            await until("all have begun", lambda: len(here.of(ev.LaunchSucceeded)) == 4)

            starts = [event.at for event in here.of(ev.LaunchStarted)]
            lowered = here.of(ev.LaunchRateChanged)[0].at
            slower = [at for at in starts if at > lowered]
            assert all(later - earlier >= 0.25 - 1e-6 for earlier, later in pairwise(starts))
            assert all(later - earlier >= 0.5 - 1e-6 for earlier, later in pairwise(slower))
            assert not [event for event in here.of(ev.JobRequeued) if event.counts]
        async with running(made) as here:
            assert rate(here.state).learned == 2
        asked = calls(made, "create")[0]
        assert asked[asked.index("--build-arg") + 1] == "--timeout=7200"
