"""Which of the collected tests a person submits, and what is said of the others."""

from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.foresight.reach import Reached
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.verification.reached.commit import committed
from supervisor.verification.reached.noting import keep
from tests.agent_clone import git
from tests.cli.running import ctl
from tests.control.served import Served, served
from tests.waiting import until

PASSES = {"a": True, "b": False, "c": True, "d": True}
A, B, C, D = (f"tests/test_it.py::test_{name}" for name in PASSES)


def with_tests(api: Served) -> None:
    text = "\n\n".join(f"def test_{name}():\n    assert {good}\n" for name, good in PASSES.items())
    (api.repo / "tests/test_it.py").write_text(text)
    git(api.repo, "commit", "-qam", "four tests")


async def test_a_limit_and_a_sample_leave_tests_out_and_say_so(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        with_tests(api)
        ran = await ctl(tmp_path, "submit", "--limit", "3", "--dry-run", "--json", cwd=api.repo)
        assert (ran.json["batch"], ran.json["jobs"], ran.json["tests"]) == (None, 3, [A, B, C])
        assert ran.json["skipped"] == [{"test": D, "why": "the limit is 3"}]
        drawn = [await ctl(tmp_path, "submit", "--sample", "2", "--json", "--dry-run", "--seed", seed, cwd=api.repo)
                 for seed in ("x", "x", "y", "z", "u", "v")]  # fmt: skip
        samples = [tuple(each.json["tests"]) for each in drawn]
        assert samples[0] == samples[1]
        assert len(set(samples)) > 1
        assert all(sorted(each) == list(each) and len(each) == 2 for each in samples), "in the order of collection"
        shown = await ctl(tmp_path, "submit", "--limit", "3", "--dry-run", cwd=api.repo)
        assert f"left out, because the limit is 3:\n  {D}\n" in shown.out
        assert "3 jobs would be submitted" in shown.out
        assert "; 1 left out" in shown.out
        assert not api.loop.state.batches
        ran = await ctl(tmp_path, "submit", "--limit", "3", cwd=api.repo)
        assert api.loop.state.batches[ran.out.strip()].tests == (A, B, C)
        assert "1 left out: the limit is 3" in ran.err


async def test_failed_takes_those_that_last_ended_badly(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="clean") as api:
        with_tests(api)
        api.player.outcomes = {B: "failed", C: "fixed"}
        batch = await api.submit(A, B, C)
        await until("it is over", lambda: batch not in api.loop.state.batches)
        ran = await ctl(tmp_path, "submit", "--select", "failed", "--dry-run", "--json", cwd=api.repo)
        assert ran.json["tests"] == [B]
        assert {each["test"]: each["why"] for each in ran.json["skipped"]} == {
            A: f"it was left clean by batch {batch}",
            C: f"it was left fixed by batch {batch}",
            D: "no batch has worked on it, so it did not fail",
        }
        api.player.outcomes = {}
        again = await api.submit(B)
        await until("it is over", lambda: again not in api.loop.state.batches)
        ran = await ctl(tmp_path, "submit", "--select", "failed", "--json", cwd=api.repo)
        assert (ran.code, ran.json["batch"], ran.json["jobs"]) == (0, None, 0), "there is nothing to do"


async def test_red_takes_those_that_fail_now(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        with_tests(api)
        ran = await ctl(tmp_path, "submit", "--select", "red", "--json", cwd=api.repo)
        assert api.loop.state.batches[ran.json["batch"]].tests == (B,)
        below = await ctl(tmp_path, "submit", "--select", "red", "--dry-run", "test_it.py", cwd=api.repo / "tests")
        assert f"left out, because it passes:\n  {A}\n  {C}\n  {D}\n" in below.out
        assert "running 4 tests once" in below.err
        assert git(api.repo, "status", "--porcelain") == ""


async def test_a_profile_may_choose_and_the_command_line_comes_before_it(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        with_tests(api)
        ran = await ctl(tmp_path, "submit", "--profile", "pending", "--dry-run", "--json", cwd=api.repo)
        assert (ran.json["jobs"], ran.json["select"]) == (0, "failed")
        ran = await ctl(tmp_path, "submit", "--profile", "pending", "--select", "all", cwd=api.repo)
        assert len(api.loop.state.batches[ran.out.strip()].tests) == 4


async def test_changed_skips_what_nothing_changed_for_and_audits_itself(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="clean") as api:
        with_tests(api)
        ran = await ctl(tmp_path, "submit", "--select", "changed", "--json", cwd=api.repo)
        batch = ran.json["batch"]
        assert ran.json["jobs"] == 4, "nothing is known yet"
        await until("it is over", lambda: batch not in api.loop.state.batches)
        store, layout = GitStore(tmp_path / "state"), Layout(tmp_path / "state")
        code = await committed(store, api.repo, "HEAD")
        for number, test in enumerate((A, B, C), 1):
            parts = {each: code.functions("tests/test_it.py")[each] for each in ("", test.rpartition("::")[2])}
            keep(layout, AttemptKey(batch, number, 1), Reached(test, {"tests/test_it.py": parts}))

        text = (api.repo / "tests/test_it.py").read_text()
        (api.repo / "tests/test_it.py").write_text(text.replace("test_a():\n", "test_a():\n    pass\n"))
        git(api.repo, "commit", "-qam", "another a")
        ran = await ctl(tmp_path, "submit", "--select", "changed", "--dry-run", "--json", cwd=api.repo)
        [audited], [skipped] = ran.json["audited"], ran.json["skipped"]
        assert {audited, skipped["test"]} == {B, C}
        assert skipped["why"] == f"nothing that it reaches changed since batch {batch}, which left it clean"
        assert ran.json["tests"] == sorted([A, D, audited])
        assert ran.json["selector"]["miss_rate"] is None
        since = await ctl(tmp_path, "submit", "--since", "HEAD~1", "--dry-run", "--json", cwd=api.repo)
        assert since.json["skipped"] == [
            {"test": skipped["test"], "why": "nothing that it reaches changed since HEAD~1"}
        ]

        api.player.failed_before = True
        ran = await ctl(tmp_path, "submit", "--select", "changed", cwd=api.repo)
        again = ran.out.strip()
        assert "1 left out: nothing that it reaches changed" in ran.err
        await until("it is over", lambda: again not in api.loop.state.batches)
        report = await ctl(tmp_path, "report", again)
        told = f"wrong about 1 of 1 tests that ran although it would have skipped them: {audited}"
        assert f"  selector    {told}\n" in report.out
        shown = await ctl(tmp_path, "submit", "--select", "changed", "--dry-run", cwd=api.repo)
        assert f"so far the selector was {told}\n" in shown.out
        gone = await ctl(tmp_path, "submit", "--since", "nowhere", "--dry-run", cwd=api.repo)
        gone.refused(4, "nowhere is not a commit of")


async def test_a_plan_says_what_a_batch_would_cost(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        with_tests(api)
        nothing = await ctl(tmp_path, "plan", cwd=api.repo)
        assert "4 jobs would be submitted" in nothing.out
        assert "not known: no batch has worked in this repository" in nothing.out
        batch = await api.submit(A, B, C)
        await until("all work", lambda: len(api.loop.state.attempts) == 3)
        for attempt in list(api.loop.state.attempts.values()):
            api.loop.inbox.tell(ev.UsageCounted(api.desk.clock(), *attempt.key, input=400_000, output=100_000))
        await api.finish(batch)
        await until("it is over", lambda: batch not in api.loop.state.batches)
        ran = await ctl(tmp_path, "plan", "--profile", "frugal", "--slots", "2", "--json", cwd=api.repo)
        found = ran.json["estimate"]
        assert found["tokens"] == {"low": 2_000_000, "likely": 2_000_000, "high": 2_000_000}
        assert (found["slots"], found["samples"], found["batches"], found["known_tests"]) == (2, 3, 1, 3)
        assert found["is_guess"]
        assert found["budgets"][0] == {"name": "a batch", "unit": "tokens", "cap": 1000, "times": 0, "left_times": 0}
        assert found["dollars"] is None
        shown = await ctl(tmp_path, "plan", cwd=api.repo)
        assert "a guess: 2M tokens (2M to 2M)\n" in shown.out
        assert "with 4 slots\n  drawn from 3 earlier jobs of 1 batch; 3 of 4 tests have been worked on" in shown.out
        assert (await ctl(tmp_path, "submit", "--dry-run", cwd=api.repo)).out.endswith(shown.out.partition("\n")[2])
        assert not api.loop.state.batches
