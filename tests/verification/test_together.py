"""Common runs settle what runs of each claim's own would settle, and nothing else."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.model.job import Brought
from supervisor.model.node import file_of
from supervisor.ports import PutBack, Sitting
from supervisor.verification.judge import ProvingJudge
from supervisor.verification.trials.trial import Trial, Trials
from tests.verification.generated import PROFILE, Claim, files_of, generate, plan
from tests.verification.grouped import also, check, edited, of_kinds, ran_alone, rework, said, settled, together
from tests.verification.settling import judge_of, settle


@pytest.mark.parametrize("width", [1, 4])
async def test_each_kind_gets_the_verdict_that_it_deserves(width: int, tmp_path: Path) -> None:
    """Suspects too have all of their runs in the checkout of the group."""
    claims = of_kinds("fixed", "improved", "false", "masked", "mends", "breaks", "fixed", "improved")
    made = await generate(tmp_path, claims, 8, profile=replace(PROFILE, evidence_factor=0))
    found = await settle(await judge_of(tmp_path), made, width)
    check(made, found)
    assert (found.groups, found.put_back) == ([tuple(range(1, 9))], {})


async def test_what_was_shown_is_what_one_by_one_would_show(tmp_path: Path) -> None:
    kinds = of_kinds("fixed", "improved", "fixed", "improved")
    made, found = await settled(tmp_path, kinds, 4, evidence_factor=100)  # no experiment is left out for its time
    check(made, found)
    judge = await judge_of(tmp_path)
    for job in made.jobs:
        alone, together = await judge.verify(made.batch, job), found.verdicts[job.number]
        assert alone.evidence is not None
        assert together.evidence is not None
        assert together.evidence.reach == alone.evidence.reach
        assert together.evidence.necessity == alone.evidence.necessity
        assert together.evidence.strength.caught == alone.evidence.strength.caught
        assert (together.doubts, together.failed_before) == (alone.doubts, alone.failed_before)
        assert (together.evidence.alone in (None, True), alone.evidence.alone) == (True, True)


async def test_claims_on_one_file_go_together(tmp_path: Path) -> None:
    """What each of them changes there is its own."""
    claims = of_kinds("improved", "fixed", "improved", "false", "improved", "improved", files=2)
    made, found = await settled(tmp_path, claims, 2)
    check(made, found)
    assert set(found.groups[0]) == {1, 2, 3, 4, 5, 6}
    assert [number for number, verdict in found.verdicts.items() if verdict.verification == "unverified"] == [4]


async def test_a_file_that_all_of_them_change_and_no_test_reads_keeps_nobody_apart(tmp_path: Path) -> None:
    made = await generate(tmp_path, of_kinds(*["improved"] * 3), 3, profile=replace(PROFILE, evidence_factor=0))
    for job in (1, 2, 3):
        also(made, job, "NOTES", f"looked at {job}\n")
    found = await settle(await judge_of(tmp_path), made)
    assert not found.put_back


class CountedTrials(Trials):
    setups = 0

    @asynccontextmanager
    async def trial(self, *args: Any, **options: Any) -> AsyncIterator[Trial]:
        self.setups += 1
        async with super().trial(*args, **options) as trial:
            yield trial


async def test_claims_without_work_share_one_run_of_their_files(tmp_path: Path) -> None:
    """At the base. A test that fails there runs by itself as well."""
    made = await generate(tmp_path, of_kinds("improved", "false", "improved"), 3, profile=PROFILE)
    jobs = [replace(job, brought=Brought("clean")) for job in made.jobs]
    store, layout = GitStore(tmp_path / "state"), Layout(tmp_path / "state")
    trials = CountedTrials(store, tmp_path / "state")
    told: list[int] = []
    sitting = Sitting(lambda job, said: told.append(job), lambda: 1)
    found = await ProvingJudge(store, layout, trials).verify_together(made.batch, jobs, sitting=sitting)
    assert said(found) == {1: "verified", 2: "unverified", 3: "verified"}
    assert (trials.setups, told) == (2, [1, 2, 3])


async def test_where_pytest_has_no_settings_claims_share_runs_too(tmp_path: Path) -> None:
    """Without settings, pytest's root depends on which tests run: here it is `tests`, and the folder of all in
    common runs."""
    claims = of_kinds("fixed", "improved", "fixed", "false")
    made = await generate(tmp_path, claims, 4, profile=PROFILE, without=["pyproject.toml"])
    judge = await judge_of(tmp_path)
    await judge.survey(made.batch, [file_of(claim.node) for claim in claims])
    found = await settle(judge, made)
    check(made, found)
    assert not found.put_back
    assert (await judge.verify(made.batch, made.jobs[0])).verification == "verified"


# --- what only seems to pass


async def test_who_mended_a_file_alike_is_not_kept_apart(tmp_path: Path) -> None:
    claims = of_kinds("fixed", "fixed", "improved", files=1)
    made = await generate(tmp_path, claims, 1, profile=replace(PROFILE, evidence_factor=0))
    mended = files_of(claims, 1)["tool/part_0.py"].replace("number * 2 + 1", "number * 2")
    for job in (1, 2):
        rework(made, job, "tool/part_0.py", mended, made.batch.base)
    made.jobs.pop()
    found = await settle(await judge_of(tmp_path), made)
    assert found.groups == [(1, 2)]
    assert not found.put_back


@pytest.mark.parametrize(
    ("leaves", "needs"),
    [
        pytest.param("os.environ['LEFT'] = '1'", "assert 'LEFT' in os.environ", id="environment"),
        pytest.param("sys.left = 1", "assert sys.left", id="state of the process"),
        pytest.param("open('left', 'w').close()", "assert os.path.exists('left')", id="file"),
    ],
)
async def test_who_needs_what_another_test_leaves_is_found_out(tmp_path: Path, leaves: str, needs: str) -> None:
    """In one of two runs it comes before it."""
    found = await together(
        tmp_path,
        of_kinds("improved", "improved", "fixed"),
        edited(1, 3, f"import os; {leaves}"),
        edited(2, 3, f"import os; {needs}"),
    )
    assert said(found) == {1: "verified", 2: "unverified", 3: "verified"}


async def test_who_passes_only_alone_is_verified_alone(tmp_path: Path) -> None:
    """That another test of another file leaves something behind is not its fault."""
    made = await generate(tmp_path, of_kinds(*["improved"] * 3), 3, profile=replace(PROFILE, evidence_factor=0))
    rework(made, *edited(1, 3, "import os; os.environ['LEFT'] = '1'"), made.batch.base)
    rework(made, *edited(2, 3, "import os; assert 'LEFT' not in os.environ"), made.batch.base)
    found = await settle(await judge_of(tmp_path), made)
    assert ran_alone(found.verdicts[2])
    check(made, found)


async def test_who_passes_by_what_another_one_changes_at_its_import_is_found_out(tmp_path: Path) -> None:
    """All tests are collected before the first is run: what a module does there, it does to all of them."""
    sly = "\n\nimport tool.part_2\ntool.part_2.f_2 = lambda number: number * 2\n"
    claims = of_kinds("improved", "false", "fixed", "fixed")
    found = await together(tmp_path, claims, edited(1, 4, "pass", at_the_end=sly))
    assert said(found) == {1: "verified", 2: "unverified", 3: "verified", 4: "verified"}


FALLS_BACK = {
    "from an error": """
    try:
        result = part_1.f_1({number})
        assert result == {double}
    except Exception:
        result = part_0.f_2({number})
""",
    "from a wrong answer": """
    result = part_1.f_1({number})
    if result != {double}:
        result = part_0.f_2({number})
""",
}


@pytest.mark.parametrize("fallback", FALLS_BACK)
async def test_who_falls_back_on_what_others_have_broken_is_not_stronger_by_that(
    tmp_path: Path, fallback: str
) -> None:
    """The test does not reach the other's function until its own one is at fault."""
    claims = [Claim(number, "improved", number % 2, number, is_run=False) for number in (1, 2)]
    text = files_of(claims, 2)["tests/test_1.py"]
    [number] = re.findall(r"f_1\((\d+)\)", text)
    call = f"\n    result = part_1.f_1({number})\n"
    instead = FALLS_BACK[fallback].format(number=number, double=int(number) * 2)
    text = text.replace("import part_1", "import part_0, part_1").replace(call, instead)
    made = await generate(tmp_path, claims, 2, profile=replace(PROFILE, evidence_factor=100))
    rework(made, 1, "tests/test_1.py", text.replace("result > 0", f"result == {int(number) * 2}"), made.batch.base)
    judge = await judge_of(tmp_path)
    found, alone = (await settle(judge, made)).verdicts[1], await judge.verify(made.batch, made.jobs[0])
    assert (found.verification, found.doubts) == (alone.verification, alone.doubts)
    assert alone.verification == "refused" or "its test catches" in alone.doubts[-1]


async def test_a_run_that_never_ends_is_taken_apart(tmp_path: Path) -> None:
    found = await together(tmp_path, of_kinds(*["improved"] * 4), edited(1, 4, "import time; time.sleep(600)"))
    assert {each.most for each in found.values() if isinstance(each, PutBack)} == {2}
    assert all(isinstance(each, PutBack) for each in found.values())


async def test_who_hides_what_tests_do_is_taken_apart_from_the_others(tmp_path: Path) -> None:
    """Of what is noted too much is left, so that the rest is not read."""
    notes = "[os.path.join(each, 'seen') for each in sys.path if os.path.isfile(os.path.join(each, 'seen'))]"
    flood = f"import os, sys; [open(each, 'a').write('x' * 65 * 2**20) for each in {notes}]"
    made = await generate(tmp_path, of_kinds("improved", "improved"), 2, profile=replace(PROFILE, evidence_factor=0))
    rework(made, *edited(1, 2, flood), made.batch.base)
    found = await (await judge_of(tmp_path)).verify_together(made.batch, made.jobs)
    assert {each.why for each in found.values() if isinstance(each, PutBack)} == {
        "not all is known that their tests did"
    }
    assert all(isinstance(each, PutBack) for each in found.values())


async def test_a_file_that_can_not_be_collected_holds_up_nobody_else(tmp_path: Path) -> None:
    found = await together(
        tmp_path, of_kinds(*["improved"] * 3), edited(2, 3, "pass", at_the_end="\n\nimport nowhere\n")
    )
    assert said(found) == {1: "verified", 2: "unverified", 3: "verified"}


async def test_work_that_can_not_be_one_tree_is_taken_apart(tmp_path: Path) -> None:
    """A file where another one has a folder."""
    found = await together(
        tmp_path, of_kinds("improved", "improved"), (1, "docs/data", "x"), (2, "docs/data/more.txt", "x")
    )
    assert len(found) == 2


# --- what no test is seen to reach


_BY_SETUP = "[ ! -f recipe ] || sed -i 's/ + 1$//' tool/part_1.py"
_BY_ANNOTATION = (
    "\n\nimport tool.part_1\n\n\n"
    "def helper(each: setattr(tool.part_1, 'f_1', lambda number: number * 2)):\n    return each\n"
)


@pytest.mark.parametrize(
    ("path", "text", "setup"),
    [
        pytest.param("recipe", "mend it\n", _BY_SETUP, id="setup"),
        pytest.param("tests/test_2.py", _BY_ANNOTATION, "", id="annotation"),
    ],
)
async def test_who_passes_by_the_work_of_others_is_found_out(
    tmp_path: Path, path: str, text: str, setup: str
) -> None:
    """Its own work is a comment; what mends its test is done where no line of it is reached. After a setup it is put
    back, to be verified alone."""
    claims = of_kinds("fixed", "improved", "fixed")
    made = await generate(tmp_path, claims, 3, profile=replace(PROFILE, setup=setup))
    own = files_of(claims, 3)["tests/test_1.py"]
    rework(made, 1, "tests/test_1.py", f"{own}\n\n# It is mended.\n", made.batch.base)
    also(made, 2, path, files_of(claims, 3, claims[1]).get(path, "") + text)
    found = await (await judge_of(tmp_path)).verify_together(made.batch, made.jobs)
    assert said(found)[1] == ("put back" if setup else "unverified"), found[1]
    assert said(found)[3] == "verified", found[3]


# --- at random


@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(6))
async def test_every_verdict_is_the_one_that_is_deserved(seed: int, tmp_path: Path) -> None:
    made, found = await settled(tmp_path, plan(24, 8, seed, bad=0.3), 8)
    check(made, found)
