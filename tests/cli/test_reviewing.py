"""`supervisorctl review`: the commits of a branch, and what becomes of those that are dropped."""

from pathlib import Path

from tests.agent_clone import git
from tests.cli.running import ctl
from tests.control.reviewed import TEXT, reviewed


async def test_the_commits_are_listed_with_what_was_said_of_them(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        ran = await ctl(tmp_path, "review")
        head, _, titles, *rows = ran.out.splitlines()
        assert (ran.code, head) == (0, f"{on.branch}: 0 of 3 commits reviewed")
        assert titles.split() == ["COMMIT", "STATE", "BY", "DOUBTS", "JOBS", "SUBJECT"]
        assert [row.split()[:2] for row in rows] == [[sha[:12], "unreviewed"] for sha in (on.tests, on.fix, on.other)]
        assert "\u202e" not in ran.out
        assert (await ctl(tmp_path, "review", on.batch[:4], "--json")).json["counts"]["total"] == 3


async def test_a_dropped_commit_is_reverted_and_comes_back(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        ran = await ctl(tmp_path, "review", on.batch, "drop", on.other[:8], "--reason", "it shouts")
        assert (ran.code, ran.out.strip()[:20]) == (0, f"{on.other[:12]} dropped")
        assert ran.out.strip().endswith(f": reverted by {on.tip()[:12]}")
        assert git(on.api.repo, "show", f"{on.branch}:app.py") == TEXT.strip()
        report = await ctl(tmp_path, "report")
        assert "  review      1 of 3 commits reviewed: 1 dropped" in report.out
        assert f"DROPPED\n  {on.other[:12]} dropped by " in report.out
        assert ": it shouts (reverted by " in report.out
        assert "[merged, dropped by " in report.out
        ran = await ctl(tmp_path, "review", on.batch, "accept", on.other, on.fix, "--json")
        assert [row["state"] for row in ran.json["rows"]] == ["accepted", "accepted"]
        assert (ran.json["changed"], ran.json["revising"]) == (True, False)
        assert git(on.api.repo, "diff", on.other, on.branch) == ""
        ran = await ctl(tmp_path, "review", on.batch, "undo", on.fix)
        assert ran.out.strip() == f"{on.fix[:12]} unreviewed"


async def test_what_can_not_be_done_is_said_and_is_no_success(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        ran = await ctl(tmp_path, "review", on.batch, "drop", on.fix)
        assert (ran.code, "but it can't be reverted alone" in ran.out) == (1, True)
        assert "dropped, but still there" in (await ctl(tmp_path, "review")).out
        git(on.api.repo, "switch", "-q", on.branch)
        ran = await ctl(tmp_path, "review", on.batch, "drop", on.other)
        assert (ran.code, "is checked out in" in ran.err) == (1, True)
        assert "it is tried again by itself" in (await ctl(tmp_path, "review")).out


async def test_mistakes_are_told(tmp_path: Path) -> None:
    async with reviewed(tmp_path) as on:
        (await ctl(tmp_path, "review", on.batch, "drop", "abcdef12")).refused(5, "has no commit abcdef12")
        assert "name the commits to drop" in (await ctl(tmp_path, "review", on.batch, "drop")).err
        assert (await ctl(tmp_path, "review", on.batch, "burn", on.fix)).code == 2
