"""From a drained batch to a branch in the person's repository, by machine alone."""

from dataclasses import replace
from pathlib import Path

from supervisor.integration.elsewhere import Elsewhere
from supervisor.model.ledger import Fate
from supervisor.model.outcome import Outcome
from supervisor.tasks import beside
from supervisor.verification.baselines import Baselines
from tests.agent_clone import commit, git
from tests.integration.workshop import DOUBLE, DOUBLED, HALF, HALVED, POLITE, QUARTERED, SANE, TESTS, Workshop, fates

NOTE = ("[IMPROVE_TEST] Say more", {"test_more__py": "def test_more():\n    pass\n"})


def unverified(workshop: Workshop) -> Workshop:
    """Where no test is run: what is picked is what counts."""
    workshop.profile = replace(workshop.profile, verify_runs=0)
    return workshop


async def test_the_ledger_has_one_row_for_each_job_and_the_branch_what_qualifies(tmp_path: Path) -> None:
    workshop = unverified(await Workshop(tmp_path).opened())
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}), NOTE)
    workshop.job(HALF, ("[FIX_IMPL] Quarter", {"app__py": QUARTERED}))
    workshop.job(DOUBLE, ("[FIX_IMPL] Double too", {"app__py": DOUBLED}))
    workshop.job(SANE, NOTE, verification="flaky", reason="passed 1 of 2", outcome=Outcome.FAILED, claim="failed")
    workshop.job(SANE, NOTE, claim="", outcome=Outcome.LOST, verification="")
    workshop.job(SANE, ("[FIX_IMPL] Force", {"conftest__py": "x = 1\n"}), verification="not-needed")
    workshop.idle(SANE)
    workshop.idle(SANE, outcome=Outcome.CANCELLED, claim="", detail="cancelled by ann")
    workshop.job(SANE, NOTE, said={"changes": {"IMPROVE_TEST": {"status": "SUCCEEDED"}}, "errored": True})

    done = await workshop.integrate()

    assert list(fates(done).values()) == [
        Fate.MERGED,
        Fate.MERGED,
        Fate.CONFLICT,
        Fate.DUPLICATE,
        Fate.REJECTED,
        Fate.RESCUED,
        Fate.REJECTED,
        Fate.EMPTY,
        Fate.CANCELLED,
        Fate.REJECTED,
    ]
    assert workshop.subjects(done.head) == [
        "[TEST/DOC] 1 change from 1 job",
        "[FIX_IMPL] Double",
        "[FIX_IMPL] Halve",
    ]
    assert done.branch == "supervisor/b"
    assert git(workshop.repo, "rev-parse", "supervisor/b") == done.head
    assert done.ledger[5].detail == "flaky: passed 1 of 2"
    assert "conftest.py" in done.ledger[7].detail
    assert "app.py" in done.ledger[3].detail
    assert (await workshop.integrate()) == done


async def test_a_fix_of_a_test_that_edits_the_implementation_gets_a_commit_of_its_own(tmp_path: Path) -> None:
    workshop = unverified(await Workshop(tmp_path).opened())
    workshop.job(DOUBLE, ("[FIX_TEST] Double", {"app__py": DOUBLED}))
    done = await workshop.integrate()
    assert workshop.subjects(done.head) == ["[FIX_IMPL] Double"]
    assert "FIX_TEST by 1" in git(workshop.bare, "log", "-1", "--format=%b", done.head)


async def test_a_persons_checkout_is_not_touched(tmp_path: Path) -> None:
    """Neither its files nor its index, HEAD or stash, with uncommitted work in all of them."""
    workshop = unverified(await Workshop(tmp_path).opened())
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    repo = workshop.repo
    (repo / "app.py").write_text("stashed\n")
    git(repo, "stash", "push", "-q")
    (repo / "app.py").write_text("staged\n")
    git(repo, "add", "app.py")
    (repo / "app.py").write_text("neither\n")
    (repo / "new.py").write_text("untracked\n")

    def seen() -> list[object]:
        asked = [["status", "--porcelain"], ["stash", "list"], ["rev-parse", "HEAD"], ["symbolic-ref", "HEAD"]]
        files = {path.name: path.read_bytes() for path in repo.iterdir() if path.is_file()}
        return [files, (repo / ".git" / "index").read_bytes(), *(git(repo, *words) for words in asked)]

    before = seen()
    done = await workshop.integrate()
    assert seen() == before
    assert git(repo, "rev-parse", done.branch) == done.head


async def test_a_name_that_is_taken_gets_a_number_and_one_branch_is_made_whatever_is_asked(tmp_path: Path) -> None:
    workshop = unverified(await Workshop(tmp_path).opened())
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    git(workshop.repo, "branch", "supervisor/b", workshop.base)
    first = await workshop.integrate()
    assert first.branch == "supervisor/b-2"
    assert git(workshop.repo, "rev-parse", "supervisor/b") == workshop.base
    git(workshop.repo, "branch", "-m", first.branch, "mine")
    assert await workshop.integrate() == first
    assert git(workshop.repo, "branch", "--list", "supervisor/*").split() == ["supervisor/b"]


async def test_a_repository_that_is_gone_is_a_problem_and_not_the_end(tmp_path: Path) -> None:
    workshop = unverified(await Workshop(tmp_path).opened())
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    workshop.repo.rename(tmp_path / "elsewhere")
    done = await workshop.integrate()
    assert done.branch == ""
    assert fates(done) == {1: Fate.MERGED}
    assert "the branch could not be made" in done.problems[0]
    assert workshop.subjects(done.head) == ["[FIX_IMPL] Double"]


async def test_where_nothing_is_merged_there_is_no_branch(tmp_path: Path) -> None:
    workshop = unverified(await Workshop(tmp_path).opened())
    workshop.idle(SANE)
    done = await workshop.integrate()
    assert (done.branch, done.head, fates(done)) == ("", "", {1: Fate.EMPTY})
    assert git(workshop.repo, "branch", "--list", "supervisor/*") == ""


async def test_what_breaks_a_test_together_with_other_work_is_left_out_and_named(tmp_path: Path) -> None:
    """Each is right by itself. The tests that were seen to pass must pass on the branch, all of them."""
    workshop = await Workshop(tmp_path).opened()
    workshop.idle(SANE)
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    workshop.job(SANE, ("[FIX_IMPL] Be polite", {"app__py": POLITE}))
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))

    done = await workshop.integrate()

    assert fates(done) == {1: Fate.EMPTY, 2: Fate.MERGED, 3: Fate.REJECTED, 4: Fate.MERGED}
    assert f"breaks {SANE} on the branch" in done.ledger[3].detail
    assert workshop.subjects(done.head) == ["[FIX_IMPL] Double", "[FIX_IMPL] Halve"]
    assert not list((workshop.layout.state_dir / "verify" / "trials").glob("*"))


async def test_what_is_doubted_gives_way_to_what_is_not(tmp_path: Path) -> None:
    """A fix does not stay out because somebody made another test expect the fault."""
    workshop = await Workshop(tmp_path).opened()
    wrong = TESTS["double"].replace("== 4", "== 2")
    workshop.job(DOUBLE, ("[FIX_TEST] Expect less", {"test_double__py": wrong}), doubts=("it expects 2, not 4",))
    both = DOUBLED.replace("def half(x):\n    return x", "def half(x):\n    return x // 2")
    workshop.job(HALF, ("[FIX_IMPL] Double, and halve", {"app__py": both}))

    done = await workshop.integrate()

    assert fates(done) == {1: Fate.REJECTED, 2: Fate.MERGED}


async def test_a_test_that_fails_without_any_work_is_no_fault_of_the_branch(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path).opened()
    workshop.idle(HALF)  # says that it passes, and does not
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    assert fates(await workshop.integrate()) == {1: Fate.EMPTY, 2: Fate.MERGED}


OTHER = "from app import double\n\n\ndef test_price():\n    assert double(3) == 3\n"


async def test_a_test_that_was_not_submitted_must_hold_too_if_it_held_at_the_base(tmp_path: Path) -> None:
    """It names what this change broke; what failed at the base already is no fault of it."""
    workshop = await Workshop(
        tmp_path, {"test_aaa__py": "def test_aaa():\n    assert 0\n", "test_shop__py": OTHER}
    ).opened()
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    done = await workshop.integrate()
    assert fates(done) == {1: Fate.MERGED, 2: Fate.REJECTED}
    assert done.ledger[2].detail.startswith("breaks test_shop.py::test_price on the branch: ")
    assert "test_aaa" not in done.ledger[2].detail


FAILS = {"test_aaa__py": "def test_aaa():\n    assert 0\n"}


async def test_what_failed_at_the_base_is_known_from_the_survey(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path, FAILS).opened()
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    for test in ("test_aaa.py::test_aaa", DOUBLE):
        await Baselines(workshop.trials, workshop.layout).run(workshop.batch, test)
    workshop.trials.commits.clear()
    done = await workshop.integrate()
    assert fates(done) == {1: Fate.MERGED}
    assert workshop.trials.commits == [done.head]


async def test_without_a_survey_only_the_files_of_what_fails_are_run_at_the_base(tmp_path: Path) -> None:
    slow = "import time\n\n\ndef test_slow(pytestconfig):\n    import app\n    app.half(2) == 1 or time.sleep(600)\n"
    workshop = await Workshop(tmp_path, {**FAILS, "test_slow__py": slow}).opened()
    workshop.profile = replace(workshop.profile, branch_tests_seconds=30)
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    done = await workshop.integrate()
    assert (fates(done), done.notes) == ({1: Fate.MERGED}, ())
    assert workshop.trials.commits == [done.head, workshop.base]


async def test_each_rejection_names_what_its_own_change_broke(tmp_path: Path) -> None:
    polite = "from app import POLITE\n\n\ndef test_zzz():\n    assert not POLITE\n"
    workshop = await Workshop(tmp_path, {"test_aprice__py": OTHER, "test_zzz__py": polite}).opened()
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    workshop.job(SANE, ("[FIX_IMPL] Be polite", {"app__py": POLITE}))
    done = await workshop.integrate()
    assert [row.detail.partition(" on the branch")[0] for row in done.ledger.values()] == [
        "",
        "breaks test_aprice.py::test_price",
        "breaks test_zzz.py::test_zzz",
    ]


async def test_a_profile_says_what_else_is_run_on_a_branch(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path, {"test_shop__py": OTHER}).opened()
    workshop.profile = replace(workshop.profile, branch_tests=())
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    assert fates(await workshop.integrate()) == {1: Fate.MERGED}


async def test_what_there_was_no_time_for_is_said(tmp_path: Path) -> None:
    slow = "import time\n\n\ndef test_slow():\n    time.sleep(600)\n\n\ndef test_after():\n    pass\n"
    workshop = await Workshop(tmp_path, {"test_zslow__py": slow}).opened()
    workshop.profile = replace(workshop.profile, branch_tests_seconds=4, test_timeout_seconds=4, setup="true")
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    done = await workshop.integrate()
    assert fates(done) == {1: Fate.MERGED}
    assert any("not run on the branch" in note for note in done.notes), done.notes


async def test_a_parametrization_that_grows_below_a_root_of_its_own_goes_in(tmp_path: Path) -> None:
    """Its package is not the repository's root, and only that package's tests are run."""
    given = "import pytest\n\n\n@pytest.mark.parametrize('x', [1])\ndef test_it(x):\n    assert x\n"
    files = {"pkg/pyproject__toml": "[tool.pytest.ini_options]\n", "pkg/tests/test_it__py": given}
    workshop = await Workshop(tmp_path, files).opened()
    workshop.job(
        "pkg/tests/test_it.py::test_it[1]",
        ("[IMPROVE_TEST] More", {"pkg/tests/test_it__py": given.replace("[1]", "[1, 2]")}),
    )
    done = await workshop.integrate()
    assert (fates(done), done.ledger[1].detail) == ({1: Fate.MERGED}, "")


async def test_what_can_not_be_taken_back_alone_is_said(tmp_path: Path) -> None:
    workshop = unverified(await Workshop(tmp_path).opened())
    again = DOUBLED.replace("return 2 * x", "return x + x")
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}), ("[FIX_IMPL] Add", {"app__py": again}))
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    done = await workshop.integrate()
    [note] = done.notes
    assert "it can't be reverted alone" in note
    assert "[FIX_IMPL] Double" in note
    assert "app.py" in note


async def test_a_base_that_has_moved_on_is_told(tmp_path: Path) -> None:
    workshop = unverified(await Workshop(tmp_path).opened())
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    commit(workshop.repo, "meanwhile", NEWS__md="news\n")
    commit(workshop.repo, "meanwhile", MORE__md="more\n")
    done = await workshop.integrate()
    assert done.notes == ("since it was submitted, main has moved on by 2 commits: the branch merges cleanly",)
    commit(workshop.repo, "collides", app__py="print()\n")
    said = await workshop.store.moved(workshop.repo, "main", workshop.base, branch=done.branch)
    assert said == "main has moved on by 3 commits: the branch collides with it in app.py"


async def test_the_branch_is_made_again_on_another_commit(tmp_path: Path) -> None:
    """What is there already is a duplicate, what collides is named, and the rest is proved."""
    workshop = await Workshop(tmp_path).opened()
    workshop.job(DOUBLE, ("[FIX_IMPL] Double", {"app__py": DOUBLED}))
    workshop.job(HALF, ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    workshop.job(HALF, ("[FIX_TEST] Note", {"README__md": "a note\n"}))
    workshop.job(SANE, ("[IMPROVE_TEST] Sane", {"test_sane__py": TESTS["sane"] + "    assert True\n"}))
    now = commit(workshop.repo, "meanwhile", app__py=HALVED, README__md="another\n", NEWS__md="news\n")
    async with beside() as tasks:
        elsewhere = Elsewhere(workshop.layout, tasks, workshop.trials)
        while (made := await elsewhere.onto(workshop.batch, now))["state"] == "working":
            pass
        again = await elsewhere.onto(workshop.batch, now)
    assert made["branch"] == f"supervisor/b-onto-{now[:12]}"
    assert git(workshop.repo, "log", "--format=%s", f"{now}..{made['branch']}").splitlines() == [
        "[FIX_IMPL] Double",
        "[TEST/DOC] 1 change from 1 job",
    ]
    assert {fate: count for fate, count in made["ledger"].items() if count} == {
        "merged": 2,
        "duplicate": 1,
        "conflict": 1,
    }
    assert [(each["job"], each["ledger"]) for each in made["left"]] == [("b.3", "conflict")]
    assert again["branch"] == made["branch"]
    assert git(workshop.repo, "rev-parse", "main") == now
