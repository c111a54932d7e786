"""An integrator's agent judges what a machine can't, and its word is taken for nothing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from supervisor.flow.lifecycle import launched
from supervisor.launch.orders import ContractOrders
from supervisor.model.event import LaunchStarted
from supervisor.model.job import INTEGRATOR
from supervisor.model.ledger import Fate
from supervisor.model.outcome import Outcome
from supervisor.verification.inspecting import write_advice
from tests.agent_clone import git
from tests.integration.workshop import (
    DOUBLE,
    DOUBLED,
    HALF,
    HALVED,
    QUARTERED,
    SANE,
    Workshop,
    fates,
    trailers,
)

#: both of the pair, as an integrator may bring them together
BOTH = DOUBLED.replace("def half(x):\n    return x\n", "def half(x):\n    return (2 * x) // 4\n")
MERGED = [Fate.MERGED, Fate.MERGED]


async def in_conflict(folder: Path, *, tests: bool = False, **files: str) -> tuple[Workshop, dict[str, Any], str]:
    """A fix that is picked, one that collides with it, and what the integrator is asked."""
    workshop = await Workshop(folder, files).opened()
    workshop.profile = replace(workshop.profile, integrator=True, verify_runs=1 if tests else 0)
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    workshop.job(
        DOUBLE,
        ("[FIX_IMPL] Double", {"app__py": DOUBLED.replace("return x\n\n\nPOLITE", "return x // 4\n\n\nPOLITE")}),
    )
    asked = await workshop.asked()
    return workshop, asked, asked["conflicts"][0]["change"]


async def test_it_is_asked_what_there_is_to_judge(tmp_path: Path) -> None:
    workshop, asked, _ = await in_conflict(tmp_path)
    assert asked["why"] == "1 conflict"
    [conflict] = asked["conflicts"]
    assert (conflict["job"], conflict["test"], conflict["paths"]) == ("b.2", DOUBLE, ["app.py"])
    assert conflict["with"][0]["job"] == "b.1"
    assert "+    return 2 * x" in conflict["patch"]
    source = workshop.layout.integration("b", 1) / "source"
    assert git(source, "log", "--format=%s", "-1") == "[FIX_IMPL] Halve"
    assert git(workshop.repo, "branch", "--list", "supervisor/*") == ""
    assert await workshop.asked() == asked


async def test_what_it_resolves_is_on_the_branch_and_in_the_ledger(tmp_path: Path) -> None:
    workshop, _, change = await in_conflict(tmp_path, tests=True)
    workshop.integrated_by(("[FIX_IMPL] Double" + trailers(2, change), {"app__py": BOTH}))
    done = await workshop.integrate()
    assert list(fates(done).values()) == MERGED
    assert workshop.subjects(done.head) == ["[FIX_IMPL] Halve", "[FIX_IMPL] Double"]
    assert git(workshop.repo, "rev-parse", done.branch) == done.head
    assert done.ledger[2].commits == (done.head,)
    assert done.problems == ()
    [doubt] = done.ledger[2].doubts[:1]
    assert doubt == "the integrator resolved the conflict in app.py; of its own: `return (2 * x) // 4`"
    assert f"Supervisor-Doubt: b.2: {doubt}" in git(workshop.bare, "log", "-1", "--format=%B", done.head)
    assert "return x // 2" in done.ledger[1].doubts[0]  # the fix of the other gave way to it
    assert await workshop.integrate() == done


async def test_the_branch_that_was_proved_is_not_run_again_as_the_start_of_the_next(tmp_path: Path) -> None:
    fails = "def test_aaa():\n    assert 0\n"
    workshop, _, change = await in_conflict(tmp_path, tests=True, test_aaa__py=fails)
    assert [each == workshop.base for each in workshop.trials.commits] == [False, True]
    workshop.trials.commits.clear()
    workshop.integrated_by(("[FIX_IMPL] Double" + trailers(2, change), {"app__py": BOTH}))
    done = await workshop.integrate()
    assert list(fates(done).values()) == MERGED
    assert workshop.trials.commits == [done.head]


async def test_what_it_gives_up_keeps_its_row_with_the_reason(tmp_path: Path) -> None:
    workshop, _, change = await in_conflict(tmp_path)
    failed = [{"job": "b.2", "change": change, "reason": "a person has to say"}]
    workshop.integrated_by(failed=failed)
    done = await workshop.integrate()
    assert fates(done) == {1: Fate.MERGED, 2: Fate.CONFLICT}
    assert "a person has to say" in done.ledger[2].detail
    assert workshop.subjects(done.head) == ["[FIX_IMPL] Halve"]
    assert done.problems == ()


async def test_a_branch_beside_the_base_or_with_a_merge_is_not_taken(tmp_path: Path) -> None:
    """Collecting refuses such a bundle already; this does not rely on it."""
    workshop, _, change = await in_conflict(tmp_path)
    source = workshop.layout.integration("b", 1) / "source"
    tree = git(source, "rev-parse", "HEAD^{tree}")
    rebased = git(source, "commit-tree", tree, "-m", "[CHANGELOG] All my own")
    merged = git(source, "commit-tree", tree, "-p", "HEAD", "-p", workshop.base, "-m", "[CHANGELOG] Merge")
    for head, reason in ((rebased, "not-on-base"), (merged, "not-linear")):
        workshop.integrated_by(onto=head, failed=[{"change": change, "reason": "too hard"}])
        (workshop.layout.integration("b", 1) / "result.json").unlink(missing_ok=True)
        done = await workshop.integrate()
        assert reason in done.problems[0]
        assert workshop.subjects(done.head) == ["[FIX_IMPL] Halve"]


async def test_a_resolution_that_breaks_a_test_is_left_out_and_its_work_stays_in_conflict(tmp_path: Path) -> None:
    workshop, _, change = await in_conflict(tmp_path, tests=True)
    undone = DOUBLED.replace("return x\n\n\nPOLITE", "return x // 4\n\n\nPOLITE")
    workshop.integrated_by(("[FIX_IMPL] Mine" + trailers(2, change), {"app__py": undone}))
    done = await workshop.integrate()
    assert workshop.subjects(done.head) == ["[FIX_IMPL] Halve"]
    assert workshop.file(done.head, "app.py") == HALVED.strip()
    assert f"the integrator's resolution of job 2 is left out: breaks {HALF} on the branch" in done.problems[0]
    assert f"breaks {HALF}" in done.ledger[2].detail
    assert list(fates(done).values()) == [Fate.MERGED, Fate.CONFLICT]


async def test_its_ranking_is_the_order_of_the_fixes(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path).opened()
    workshop.profile = replace(workshop.profile, integrator=True, verify_runs=0)
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    ranking = (await workshop.asked())["ranking"]
    workshop.integrated_by(ranking=[*reversed(ranking), "0" * 40])
    done = await workshop.integrate()
    assert workshop.subjects(done.head) == ["[FIX_IMPL] Halve", "[FIX_IMPL] Double"]
    assert "the fixes stand in the order that the integrator gave them" in done.notes
    assert done.problems == (f"the integrator ranks {'0' * 40}, which is not a fix on this branch",)


async def test_without_a_branch_of_its_own_the_machines_stands(tmp_path: Path) -> None:
    workshop, _, _ = await in_conflict(tmp_path)
    workshop.judged_as(outcome=Outcome.TIMED_OUT, detail="not done within 60 s")
    done = await workshop.integrate()
    assert done.problems == ("the integrator's agent made no branch: timed-out: not done within 60 s",)
    assert workshop.subjects(done.head) == ["[FIX_IMPL] Halve"]


async def test_without_an_integrator_a_conflict_is_set_aside_and_both_sides_are_named(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path).opened()
    workshop.profile = replace(workshop.profile, verify_runs=0)
    one = workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    workshop.job(HALF, ("[FIX_IMPL] Quarter", {"app__py": QUARTERED}))
    done = await workshop.integrate()
    assert fates(done) == {1: Fate.MERGED, 2: Fate.CONFLICT}
    assert f"of job {one}" in done.ledger[2].detail


async def test_repeated_changes_fixes_and_escalations_are_put_to_it(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path).opened()
    workshop.profile = replace(workshop.profile, integrator=True, verify_runs=0)
    said = {"escalations": [{"kind": "UNCAUGHT_BUG", "title": "It eats rice", "detail_markdown": "all of it"}]}
    for name in ("one", "two", "three"):
        workshop.job(SANE, (f"[IMPROVE_TEST] {name}", {f"test_{name}__py": "def test_it():\n    assert True\n"}))
    workshop.job(
        DOUBLE,
        ("[FIX_IMPL] Double", {"app__py": DOUBLED}),
        said=said | {"changes": {"FIX_IMPL": {"status": "SUCCEEDED"}}},
    )
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    asked = await workshop.asked()
    assert asked["why"] == "2 fixes to rank, 1 repeated group, 1 escalation"
    assert len(asked["ranking"]) == 2
    assert asked["repeated"][0]["paths"] == ["test_one.py", "test_three.py", "test_two.py"]
    assert [each["title"] for each in asked["escalations"]] == ["It eats rice"]


async def test_it_alone_gets_what_may_push_and_starts_from_the_machines_branch(tmp_path: Path) -> None:
    workshop, asked, _ = await in_conflict(tmp_path)
    workshop.profile = replace(workshop.profile, integrator_env={"GH_TOKEN": "t0ken"})
    workshop.judged_as()
    orders = ContractOrders(workshop.layout, "here", None, write_advice)

    def order(job: int) -> Any:
        event = LaunchStarted(0.0, "b", job, 1, agent_id="a", agent_name="a", pool="local", provider="local")
        return orders.order(workshop.batch, launched(event))

    tester, integrator = order(1), order(INTEGRATOR)
    assert "GH_TOKEN" not in tester.env
    assert integrator.env["GH_TOKEN"] == "t0ken"
    assert (tester.env["SUPERVISOR_ROLE"], integrator.env["SUPERVISOR_ROLE"]) == ("tester", "integrator")
    assert integrator.env["SUPERVISOR_RUN"] == asked["run"]
    assert integrator.source == workshop.layout.integration("b", 1) / "source"
    assert integrator.files["supervisor/integration.json"].is_file()
