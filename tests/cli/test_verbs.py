"""What each verb does, prints and exits with."""

import asyncio
import json
import os
import pty
import signal
from pathlib import Path

import pytest

from supervisor.model import event as ev
from supervisor.model.job import JobState
from tests.cli.running import BIN, ctl, environment
from tests.control.served import Served, served
from tests.waiting import until

FUNCTIONS = ["tests/test_it.py::test_one", "tests/test_it.py::test_two"]
TESTS = ["tests/test_it.py::test_one", "tests/test_it.py::test_two[a b]", "tests/test_it.py::test_two[c]"]


async def test_submit_collects_in_the_target_and_prints_the_batch(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        ran = await ctl(tmp_path, "submit", "tests", "--json", cwd=api.repo)
        batch = ran.json["batch"]
        assert (ran.code, ran.json) == (0, {"schema_version": 1, "batch": batch, "jobs": 2, "changed": True})
        submitted = api.loop.state.batches[batch]
        assert (submitted.tests, submitted.cases) == (tuple(FUNCTIONS), (1, 2))
        again = await ctl(tmp_path, "submit", "--repo", str(api.repo), "--", "-k", "test_one")
        assert api.loop.state.batches[again.out.strip()].profile.pytest_args == ("-k", "test_one")
        assert api.loop.state.batches[again.out.strip()].tests == (TESTS[0],)


async def test_submit_leaves_the_checkout_as_it_was(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        before = sorted(str(path) for path in api.repo.rglob("*") if ".git" not in path.parts)
        # with all plugins that are here: some of them leave files
        assert (await ctl(tmp_path, "submit", cwd=api.repo, PYTEST_DISABLE_PLUGIN_AUTOLOAD="")).code == 0
        assert sorted(str(path) for path in api.repo.rglob("*") if ".git" not in path.parts) == before


async def test_a_dry_run_submits_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        ran = await ctl(tmp_path, "submit", "tests", "--dry-run", "--json", cwd=api.repo)
        assert (ran.code, ran.json["jobs"], ran.json["tests"], ran.json["cases"]) == (0, 2, FUNCTIONS, [1, 2])
        shown = await ctl(tmp_path, "submit", "tests", "--dry-run", cwd=api.repo)
        assert "\ntests/test_it.py::test_two  (2 cases)\n2 jobs from 3 cases (one per function) would" in shown.out
        assert not api.loop.state.batches


async def test_a_profile_says_what_a_job_has_and_the_command_line_before_it(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        ran = await ctl(tmp_path, "submit", "tests", "--profile", "by-case", "--dry-run", "--json", cwd=api.repo)
        assert (ran.json["per"], ran.json["tests"], ran.json["cases"]) == ("case", TESTS, [1, 1, 1])
        ran = await ctl(tmp_path, "submit", "tests", "--profile", "by-case", "--per", "file", cwd=api.repo)
        batch = api.loop.state.batches[ran.out.strip()]
        assert (batch.tests, batch.cases, batch.profile.per) == (("tests/test_it.py",), (3,), "file")
        assert f"1 job from 3 cases (one per file); `supervisorctl follow {batch.id}`" in ran.err
        [row] = (await ctl(tmp_path, "jobs", "--json")).json["rows"]
        assert (row["test"], row["cases"]) == ("tests/test_it.py", 3)
        assert "CASES" in (await ctl(tmp_path, "jobs")).out.splitlines()[0]


async def test_a_node_id_is_understood_from_below_the_root(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        ran = await ctl(tmp_path, "submit", "test_it.py::test_one", "--dry-run", "--json", cwd=api.repo / "tests")
        assert ran.json["tests"] == [TESTS[0]]


@pytest.mark.parametrize(("outcome", "code"), [("fixed", 0), ("clean", 0), ("failed", 1), ("blocked", 1)])
async def test_waiting_ends_with_what_became_of_the_jobs(tmp_path: Path, outcome: str, code: int) -> None:
    async with served(tmp_path, otherwise=outcome) as api:
        ran = await ctl(tmp_path, "submit", "--wait", "--json", cwd=api.repo)
        assert (ran.code, ran.json["batch"]["state"], ran.json["batch"]["outcomes"][outcome]) == (code, "finished", 2)


async def test_waiting_has_an_end(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.submit(*TESTS)
        assert (await ctl(tmp_path, "wait", "--timeout", "0.2")).code == 124


async def test_wait_sees_the_end_when_it_comes(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        waiting = asyncio.create_task(ctl(tmp_path, "wait", batch))
        await api.finish(batch)
        ran = await waiting
        assert (ran.code, f"batch {batch}: finished" in ran.out) == (0, True)


async def test_steering(tmp_path: Path) -> None:
    """Each verb says what it did, and the second time that it was so already."""
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        for args, first, second in [
            (["pause", "--reason", "lunch"], "paused", "already paused"),
            (["resume"], "resumed", "not paused"),
            (["pause", batch[:3]], "paused", "paused already"),
            (["resume", batch], "resumed", "not paused"),
            (["slots", "7"], "7 slots", "as before"),
            (["slots", "local", "8"], "8 slots", "as before"),
            (["cancel", f"{batch}.1"], "cancelled", "cancelled already"),
        ]:
            assert first in (await ctl(tmp_path, *args)).out
            assert second in (await ctl(tmp_path, *args)).out
        assert (await ctl(tmp_path, "cancel", batch, "--json")).json["changed"] is True


async def test_integrate_makes_a_branch_of_what_is_done_so_far(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        (await ctl(tmp_path, "integrate", batch)).refused(4, f"batch {batch} has no finished work yet")
        (await ctl(tmp_path, "integrate", "zzz")).refused(5, "there is no batch zzz")
        api.loop.inbox.tell(ev.WorkPublished(api.desk.clock(), batch, 1, 1))
        await until("one is over", lambda: api.loop.state.batches[batch].count(JobState.DONE))
        assert "integrating the work" in (await ctl(tmp_path, "integrate", batch)).out
        assert (await ctl(tmp_path, "integrate", batch, "--json")).json["changed"] is False
        assert f"so far      supervisor/{batch}, 1 of 3 jobs" in (await ctl(tmp_path, "status", batch)).out
        assert f"so far      supervisor/{batch}, 1 of 3 jobs" in (await ctl(tmp_path, "report", batch)).out
        assert "partial-ended" in (await ctl(tmp_path, "events", batch)).out
        assert batch in (await ctl(tmp_path, "complete", "--", "integrate", batch[:2])).out
        await api.finish(batch)
        await until("it is sealed", lambda: batch not in api.loop.state.batches)
        (await ctl(tmp_path, "integrate", batch)).refused(4, f"batch {batch} is finished")
        assert "so far" not in (await ctl(tmp_path, "status", batch)).out


async def test_reload_takes_a_good_configuration_and_keeps_it_over_a_bad_one(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        assert "has not changed" in (await ctl(tmp_path, "reload")).out
        (config := tmp_path / "config.toml").write_text('[[pools]]\nname = "local"\nslots = 9\n')
        assert "in force" in (await ctl(tmp_path, "reload")).out
        config.write_text("[[pools]]\nname = 7\n")
        (await ctl(tmp_path, "reload")).refused(2, "pools.0.name")
        assert api.loop.state.pools["local"].slots == 9


async def test_drain_waits_for_the_last_agent(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        late = await ctl(tmp_path, "drain", "--deadline", "0.1", "--json")
        assert (late.code, late.json["drained"], late.json["agents"]) == (124, False, 3)
        assert api.loop.state.paused
        draining = asyncio.create_task(ctl(tmp_path, "drain"))
        await api.finish(batch)
        assert ((await draining).code, api.loop.state.pause_reason) == (0, "draining")


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_ends_the_waiting_and_not_the_drain(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    async with served(tmp_path) as api:
        await api.submit(*TESTS)
        env = environment(tmp_path, SUPERVISOR_SOCKET=str(api.socket))
        draining = await asyncio.create_subprocess_exec(
            str(BIN / "supervisorctl"), "drain", env=env, stderr=asyncio.subprocess.PIPE
        )
        assert draining.stderr is not None
        await draining.stderr.readline()
        draining.send_signal(sent)
        ended = await draining.wait()
        assert (ended if ended >= 0 else 128 - ended) == code, "as a shell tells it"
        assert api.loop.state.paused


async def test_looking(tmp_path: Path) -> None:
    async with served(tmp_path, slots=2) as api:
        batch = await api.submit(*TESTS)
        status = (await ctl(tmp_path, "status")).out
        assert batch in status
        assert "2/2" in status
        assert (await ctl(tmp_path, "status", batch, "--json")).json["batch"]["jobs"]["running"] == 2
        jobs = (await ctl(tmp_path, "--json", "jobs", batch, "--state", "queued")).json["rows"]
        assert [row["id"] for row in jobs] == [f"{batch}.3"]
        assert "launch-started" in (await ctl(tmp_path, "job", f"{batch}.1")).out
        lines = (await ctl(tmp_path, "events", "--json", "--after", "0")).out.splitlines()
        assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
        assert len((await ctl(tmp_path, "events", "-n", "2")).out.splitlines()) == 2


async def test_options_are_taken_before_the_verb_and_after_it(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        socket = str(api.socket)
        for args in (["--json", "--socket", socket, "status"], ["status", "--json", f"--socket={socket}"]):
            assert (await ctl(tmp_path, *args, SUPERVISOR_SOCKET="/nowhere")).json["batches"] == []


@pytest.mark.parametrize("args", ["--json tutorial {}", "tutorial --json {}", "tutorial {} --json"])
async def test_a_program_may_ask_the_tutorial_verbs_for_json_at_any_place(tmp_path: Path, args: str) -> None:
    (tmp_path / "tutorial.sh").write_text("# make one\ntool make one\n")
    (tmp_path / "tests").mkdir()
    for verb, key in (
        ("blocks tutorial.sh", "blocks"),
        ("check tutorial.sh --tests tests", "uncited"),
        ("install-command .", "path"),
        ("view tests -o page.html", "path"),
    ):
        assert (await ctl(tmp_path, *args.format(verb).split())).json[key]


async def test_following_without_a_terminal_is_a_line_for_each_event(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="fixed") as api:
        batch = await api.submit(*TESTS)
        ran = await ctl(tmp_path, "follow", batch)
        assert ran.code == 0
        assert "work-published" in ran.out
        assert "\x1b" not in ran.out


@pytest.mark.parametrize("no_color", ["", "1"])
async def test_following_on_a_terminal_is_a_picture(tmp_path: Path, no_color: str) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        ours, theirs = pty.openpty()
        env = environment(tmp_path, SUPERVISOR_SOCKET=str(api.socket), TERM="xterm", NO_COLOR=no_color)
        following = await asyncio.create_subprocess_exec(
            str(BIN / "supervisorctl"), "follow", stdin=theirs, stdout=theirs, stderr=theirs, env=env
        )
        os.close(theirs)
        said = bytearray()
        try:
            os.set_blocking(ours, False)
            asyncio.get_running_loop().add_reader(ours, lambda: _read(ours, said))
            await until("it shows the stages", lambda: b"stages   3 running" in said)
            await until("it shows the slots", lambda: b"local 3/4" in said)
            await api.finish(batch)
            assert await asyncio.wait_for(following.wait(), 20) == 0
            await until("it ends with the summary", lambda: b"3 fixed" in said)
        finally:
            asyncio.get_running_loop().remove_reader(ours)
            os.close(ours)


def _read(fd: int, into: bytearray) -> None:
    try:
        into += os.read(fd, 65536)
    except OSError:
        asyncio.get_running_loop().remove_reader(fd)


async def test_what_tests_are_called_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.submit("tests/test_it.py::test[\x1b[2J]")
        assert "\x1b" not in (await ctl(tmp_path, "jobs")).out


async def test_completion_knows_verbs_options_batches_and_jobs(tmp_path: Path) -> None:
    async def candidates(api: Served, *words: str) -> list[str]:
        return (await ctl(tmp_path, "complete", "--", *words)).out.split()

    async with served(tmp_path) as api:
        await api.submit(*TESTS, batch="kaaaa")
        assert await candidates(api, "st") == ["status"]
        assert "--deadline" in await candidates(api, "drain", "--")
        assert await candidates(api, "status", "k") == ["kaaaa"]
        assert await candidates(api, "cancel", "kaaaa.") == ["kaaaa.1", "kaaaa.2", "kaaaa.3"]
    assert await candidates(api, "status", "k") == []


async def test_bash_completes_a_batch(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.submit(*TESTS, batch="kaaaa")
        script = (await ctl(tmp_path, "completion", "bash")).out
        script += "COMP_WORDS=(supervisorctl status ka) COMP_CWORD=2; _supervisorctl_complete supervisorctl\n"
        env = environment(tmp_path, SUPERVISOR_SOCKET=str(api.socket))
        bash = await asyncio.create_subprocess_exec(
            "bash", "-c", script + 'echo "${COMPREPLY[@]}"', env=env, stdout=asyncio.subprocess.PIPE
        )
        assert (await bash.communicate())[0] == b"kaaaa\n"


async def test_status_counts_agents_at_work(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(*TESTS)
        await until(
            "all three agents are at work", lambda: api.loop.state.batches[batch].count(JobState.RUNNING) == 3
        )
        head, row, *_ = (await ctl(tmp_path, "status")).out.splitlines()
        assert head.split()[2:] == ["JOBS", "WAITING", "AT", "WORK", "CHECKED", "OVER", "OUTCOMES"]
        assert row.split()[2:6] == ["3", "0", "3", "0"]
