"""The agent does what each seed says, by the public contract alone."""

import ast
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.agents.rehearsal import sharpened
from supervisor.publication.rules.outcome import claimed, parse_outcome
from supervisor.rehearsal import AGENT
from supervisor.rehearsal.generate import generate
from tests.rehearsal.stage import KNOWN, SEEDS, Stage, failures, git
from tests.waiting import until_sync

ENDLESS = {"crash", "dirty-crash", "silent", "hang"}
PUBLISHING = [test for test, seed in SEEDS.items() if seed.get("attempts", ["publish"])[-1] not in ENDLESS]
UNSEEDED = "tests/e2e/test_stock.py::test_use_takes_some_out"


def seeded(behaviour: str) -> str:
    return next(test for test, seed in SEEDS.items() if behaviour in seed.get("attempts", []))


@pytest.mark.parametrize("test", [*PUBLISHING, UNSEEDED])
def test_it_publishes_what_the_seed_says(target: Path, tmp_path: Path, test: str) -> None:
    """Run, mended, run again, committed by kind, claimed as it was found, published."""
    stage = Stage.set_up(target, tmp_path)
    seed = {**KNOWN["default"], **SEEDS.get(test, {})}
    changes = seed.get("changes", [])
    mends = any(change["edits"] for change in changes)
    assert stage.play(stage.contract(test, attempt=len(seed.get("attempts", ["publish"])))) == 0
    outcome = stage.published
    assert outcome is not None
    assert outcome["tests_passing_before"] is seed["passes_before"]
    assert outcome["tests_passing_after"] is (seed["passes_before"] or mends)
    assert {kind: claim["status"] for kind, claim in outcome["changes"].items()} == {
        change["kind"]: "SUCCEEDED" if change["edits"] else "FAILED" for change in changes
    }
    assert stage.subjects == [f"[{each['kind']}] {each['subject']}" for each in changes if each["edits"]]
    assert outcome["escalations"] == seed.get("escalations", [])
    if "verification" not in seed["expected"]:
        report = parse_outcome((stage.desk / "published.json").read_bytes())
        assert claimed(report, len(stage.subjects))[0] == seed["expected"]["outcome"]
    assert git(stage.repo, "status", "--porcelain") == ""
    assert not (stage.desk / "active").exists()


def test_it_crashes_once_and_works_when_tried_again(target: Path, tmp_path: Path) -> None:
    test = "tests/e2e/test_shelves.py::test_move_to_another_shelf"
    first, second = (Stage.set_up(target, tmp_path / name) for name in ("first", "second"))
    assert first.play(first.contract(test, attempt=1)) != 0
    assert first.published is None
    assert first.subjects == []
    assert second.play(second.contract(test, attempt=2)) == 0
    assert second.published is not None


@pytest.mark.parametrize("attempt", [1, 2])
def test_it_leaves_uncommitted_work_behind(target: Path, tmp_path: Path, attempt: int) -> None:
    stage = Stage.set_up(target, tmp_path)
    assert stage.play(stage.contract(seeded("dirty-crash"), attempt)) != 0
    assert git(stage.repo, "status", "--porcelain") == "M tests/e2e/test_cooking.py"
    assert stage.subjects == []


def test_it_forgets_to_publish_until_it_is_told(target: Path, tmp_path: Path) -> None:
    stage = Stage.set_up(target, tmp_path)
    with stage.started(stage.contract(seeded("forget"))) as agent:
        until_sync("the agent ended its turn", lambda: stage.said("done, I think"))
        until_sync("it is waiting", lambda: not (stage.desk / "active").exists())
        assert stage.published is None
        agent.communicate("you have not published\n", timeout=60)
        assert agent.returncode == 0
    assert stage.published is not None
    assert stage.said("told: you have not published")


def test_it_stays_silent_whatever_it_is_told(target: Path, tmp_path: Path) -> None:
    stage = Stage.set_up(target, tmp_path)
    with stage.started(stage.contract(seeded("silent"))) as agent:
        until_sync("the agent ended its turn", lambda: stage.said("that will be all"))
        until_sync("it is waiting", lambda: not (stage.desk / "active").exists())
        assert agent.stdin is not None
        agent.stdin.write("you have not published\n")
        agent.stdin.flush()
        assert agent.poll() is None
    assert stage.published is None


def test_it_hangs_busily(target: Path, tmp_path: Path) -> None:
    """It does look alive all the time: only a time limit ends it."""
    stage = Stage.set_up(target, tmp_path)
    with stage.started(stage.contract(seeded("hang"))) as agent:
        until_sync("the agent is thinking", lambda: stage.said("still thinking"))
        assert (stage.desk / "active").exists()
        assert agent.poll() is None
    assert stage.published is None


def test_it_is_called_what_mngr_looks_for(target: Path, tmp_path: Path) -> None:
    """mngr compares the first word of the command with the name of the process, 15 characters of it."""
    stage = Stage.set_up(target, tmp_path)
    (stage.desk / "data.json").write_text(json.dumps({"command": "/opt/a-rather-long-name.py --work 3"}))
    with stage.started(stage.contract(UNSEEDED), "--scenario", "hang") as agent:
        until_sync("the agent is thinking", lambda: stage.said("still thinking"))
        assert Path(f"/proc/{agent.pid}/comm").read_text().strip() == "a-rather-long-n"


def test_its_steps_are_events_with_token_counts(target: Path, tmp_path: Path) -> None:
    stage = Stage.set_up(target, tmp_path)
    assert stage.play(stage.contract(UNSEEDED), "--tokens", "1000") == 0
    assert {"timestamp", "type", "event_id", "source", "message"} <= set(stage.steps[0])
    assert {step["metrics"]["prompt_tokens"] for step in stage.steps} == {1000}
    assert len({step["extra"]["message_id"] for step in stage.steps}) == len(stage.steps)


def test_it_says_when_publishing_is_refused(target: Path, tmp_path: Path) -> None:
    stage = Stage.set_up(target, tmp_path)
    (stage.desk / "publish").write_text("echo the outcome lacks a summary\nexit 3\n")
    assert stage.play(stage.contract(UNSEEDED)) == 3
    assert stage.said("refused: the outcome lacks a summary")


def test_it_leaves_alone_what_is_mended_already(target: Path, tmp_path: Path) -> None:
    """The night after: the fix is in the base commit, and there is nothing left to do."""
    stage = Stage.set_up(target, tmp_path)
    test = "tests/e2e/test_stock.py::test_add_again_adds_up"
    assert stage.play(stage.contract(test)) == 0
    assert stage.play(stage.contract(test)) == 0
    assert len(stage.subjects) == 1
    assert stage.published is not None
    assert stage.published["changes"] == {}


def test_it_is_killed_once_and_works_when_tried_again(tmp_path: Path) -> None:
    """For a drill: nothing is committed by the first, as by any process that gets a SIGKILL."""
    generate(tmp_path / "repo", 2)
    test = "tests/test_from_00000.py::test_00001"
    first, second = (Stage.set_up(tmp_path / "repo", tmp_path / name) for name in ("first", "second"))
    assert first.play(first.contract(test, attempt=1), "--scenario", "killed") == -signal.SIGKILL
    assert (first.published, first.subjects) == (None, [])
    assert second.play(second.contract(test, attempt=2), "--scenario", "killed") == 0
    assert second.published is not None


@pytest.mark.parametrize("scenario", ["clean", "improve", "forget", "refused", "crash", "dirty-crash"])
def test_a_scenario_is_played_on_any_repository(tmp_path: Path, scenario: str) -> None:
    generate(tmp_path / "any", tests=30)
    stage = Stage.set_up(tmp_path / "any", tmp_path)
    test = "tests/test_from_00025.py::test_00027"
    code = stage.play(stage.contract(test), "--scenario", scenario)
    assert (code == 0) is (stage.published is not None) is ("crash" not in scenario)
    assert len(stage.subjects) == (scenario in ("improve", "refused"))
    assert (git(stage.repo, "status", "--porcelain") != "") is (scenario == "dirty-crash")
    assert failures(stage.repo, test) == set()


def test_it_needs_nothing_but_an_old_python() -> None:
    """It is uploaded to hosts where nothing of ours is installed."""
    tree = ast.parse(AGENT.read_text(), feature_version=(3, 9))
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


def test_the_publish_tool_takes_what_it_writes(target: Path, tmp_path: Path) -> None:
    """Not only this folder's stand-in."""
    stage = Stage.set_up(target, tmp_path)
    tool = stage.desk / "supervisor" / "publish"
    tool.parent.mkdir()
    tool.write_bytes(AGENT.with_name("publish").read_bytes())
    contract = stage.contract("tests/e2e/test_stock.py::test_add_again_adds_up")
    contract |= {"SUPERVISOR_PUBLISH": f"sh {tool}", "SUPERVISOR_OUTCOME": str(tool.with_name("outcome.json"))}
    assert stage.play(contract) == 0, stage.steps
    listed = subprocess.run(["tar", "-tf", tool.with_name("published.tar")], capture_output=True, text=True)
    assert "branch.bundle" in listed.stdout


@pytest.mark.parametrize(
    ("inside", "name"),
    [
        ("::test_one", "test_one"),
        ("::TestB::test_two[a::b]", "test_two"),
        ("::TestB", "test_first"),
        ("", "test_first"),
    ],
)
def test_a_job_may_be_a_function_a_case_a_class_or_a_file(tmp_path: Path, inside: str, name: str) -> None:
    file = tmp_path / "test_x.py"
    tests = "class TestB:\n    def test_first(self):\n        pass\n    def test_two(self):\n        pass\n"
    file.write_text(f"def helper():\n    pass\n{tests}def test_one():\n    pass\n")
    assert sharpened(f"{file}{inside}")["subject"] == f"Say what {name} promises"
