"""Common runs settle what runs of each claim's own would settle, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pygit2
import pytest

from supervisor.adapters.git.store import GitStore
from supervisor.model.node import file_of
from supervisor.model.verdict import Verdict
from supervisor.ports import PutBack
from tests.verification.generated import AUTHOR, BAD, PROFILE, TRUTH, Claim, Generated, files_of, generate, plan
from tests.verification.settling import Settled, judge_of, settle


async def settled(folder: Path, claims: list[Claim], files: int, **profile: object) -> tuple[Generated, Settled]:
    made = await generate(folder, claims, files, profile=replace(PROFILE, **profile))  # type: ignore[arg-type]
    return made, await settle(await judge_of(folder), made)


def check(made: Generated, found: Settled) -> None:
    wrong = {
        claim.number: (claim.kind, found.verdicts[claim.number].verification, found.verdicts[claim.number].reason)
        for claim in made.claims
        if found.verdicts[claim.number].verification not in TRUTH[claim.kind]
    }
    assert not wrong


def of_kinds(*kinds: str, files: int = 0) -> list[Claim]:
    """Each in a file of its own, or spread over so many."""
    return [Claim(number, kind, number % (files or len(kinds)), number) for number, kind in enumerate(kinds, 1)]


async def test_each_kind_gets_the_verdict_that_it_deserves(tmp_path: Path) -> None:
    claims = of_kinds("fixed", "improved", "false", "masked", "mends", "breaks", "fixed", "improved")
    made, found = await settled(tmp_path, claims, 8, evidence_factor=0)
    check(made, found)
    good = [claim.number for claim in claims if claim.kind not in BAD]
    assert not set(found.put_back) & set(good), found.put_back
    assert found.put_back[4] == "its test and the work of others meet"


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
    assert found.groups[0] == (1, 2, 3, 4, 5, 6)
    assert found.put_back.keys() >= {4}


async def test_a_file_that_all_of_them_change_and_no_test_reads_keeps_nobody_apart(tmp_path: Path) -> None:
    made = await generate(tmp_path, of_kinds(*["improved"] * 3), 3, profile=replace(PROFILE, evidence_factor=0))
    for job in (1, 2, 3):
        also(made, job, "NOTES", f"looked at {job}\n")
    found = await settle(await judge_of(tmp_path), made)
    assert not found.put_back


async def test_where_pytest_has_no_settings_claims_share_runs_too(tmp_path: Path) -> None:
    """Without settings, pytest's root depends on which tests run: here it is `tests`, and the folder of all in
    common runs."""
    claims = of_kinds("fixed", "improved", "fixed", "false")
    made = await generate(tmp_path, claims, 4, profile=PROFILE, without=["pyproject.toml"])
    judge = await judge_of(tmp_path)
    await judge.survey(made.batch, [file_of(claim.node) for claim in claims])
    found = await settle(judge, made)
    check(made, found)
    assert found.put_back.keys() == {4}
    assert (await judge.verify(made.batch, made.jobs[0])).verification == "verified"


# --- what only seems to pass


def also(made: Generated, job: int, path: str, text: str) -> None:
    """The work of a job, and one file more."""
    rework(made, job, path, text, made.jobs[job - 1].brought.head)


def rework(made: Generated, job: int, path: str, text: str, upon: str) -> None:
    bare = pygit2.Repository(str(GitStore(made.repo.parent / "state").bare(made.repo)))
    index, parent = pygit2.Index(), bare[upon]
    index.read_tree(parent.peel(pygit2.Tree))
    index.add(pygit2.IndexEntry(path, bare.create_blob(text.encode()), pygit2.enums.FileMode.BLOB))
    head = bare.create_commit(None, AUTHOR, AUTHOR, "[IMPROVE_TEST] x", index.write_tree(bare), [parent.id])
    old = made.jobs[job - 1]
    made.jobs[job - 1] = replace(old, brought=replace(old.brought, head=str(head)))


async def together(folder: Path, claims: list[Claim], *works: tuple[int, str, str]) -> dict[int, Verdict | PutBack]:
    profile = replace(PROFILE, evidence_factor=0, test_timeout_seconds=5)
    made = await generate(folder, claims, len(claims), profile=profile)
    for job, path, text in works:
        rework(made, job, path, text, made.batch.base)
    return dict(await (await judge_of(folder)).verify_together(made.batch, made.jobs))


def edited(job: int, count: int, more: str, *, at_the_end: str = "") -> tuple[int, str, str]:
    """The file of its test, which does this, too."""
    text = files_of(of_kinds(*["improved"] * count), count)[f"tests/test_{job}.py"]
    checked = "    assert result > 0\n"
    assert checked in text
    return job, f"tests/test_{job}.py", text.replace(checked, f"    assert result == 6\n    {more}\n", 1) + at_the_end


async def test_who_meets_others_shares_runs_without_them(tmp_path: Path) -> None:
    kinds = of_kinds("improved", "improved", "fixed", "improved", "fixed", "improved")
    made = await generate(tmp_path, kinds, 6, profile=replace(PROFILE, evidence_factor=0))
    for job, mended in ((1, 3), (2, 3), (4, 5), (6, 5)):
        path, text = f"tests/test_{job % 6}.py", files_of(kinds, 6, kinds[job - 1])[f"tests/test_{job % 6}.py"]
        rework(
            made,
            job,
            path,
            f"{text}    from tool import part_{mended}\n    part_{mended}.f_{mended}(1)\n",
            made.batch.base,
        )
    found = await settle(await judge_of(tmp_path), made)
    assert found.groups == [(1, 2, 3, 4, 5, 6), (3, 5)]
    check(made, found)


_AWK = "subprocess.run(['awk', {program!r}, {file!r}], check=True, stdout=subprocess.DEVNULL)"


async def test_a_program_without_notes_notices_the_files_that_it_opens(tmp_path: Path) -> None:
    """The kernel tells which they are."""
    kinds = of_kinds("improved", "improved", "fixed")
    elsewhere = edited(1, 3, _AWK.format(program="{ print }", file="tool/part_2.py"))
    assert not await put_back(tmp_path / "1", kinds, elsewhere)
    at_the_fix = edited(1, 3, _AWK.format(program="{ print }", file="tool/part_0.py"))
    assert await put_back(tmp_path / "2", kinds, at_the_fix)
    listing = edited(1, 3, "subprocess.run(['find', 'tool'], check=True, stdout=subprocess.DEVNULL)")
    assert await put_back(tmp_path / "3", kinds, listing)


async def put_back(folder: Path, claims: list[Claim], *works: tuple[int, str, str]) -> set[int]:
    found = await together(folder, claims, *works)
    return {number for number, each in found.items() if isinstance(each, PutBack)}


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
async def test_who_needs_what_another_test_leaves_is_put_back(tmp_path: Path, leaves: str, needs: str) -> None:
    """In one of two runs it comes before it."""
    found = await together(
        tmp_path,
        of_kinds("improved", "improved", "fixed"),
        edited(1, 3, f"import os; {leaves}"),
        edited(2, 3, f"import os; {needs}"),
    )
    assert isinstance(found[2], PutBack)
    assert found[2].most == 1
    assert isinstance(found.get(3), Verdict)


async def test_who_passes_only_alone_is_verified_alone(tmp_path: Path) -> None:
    """That another test of another file leaves something behind is not its fault."""
    made = await generate(tmp_path, of_kinds(*["improved"] * 3), 3, profile=replace(PROFILE, evidence_factor=0))
    rework(made, *edited(1, 3, "import os; os.environ['LEFT'] = '1'"), made.batch.base)
    rework(made, *edited(2, 3, "import os; assert 'LEFT' not in os.environ"), made.batch.base)
    found = await settle(await judge_of(tmp_path), made)
    assert found.put_back.keys() >= {2}
    check(made, found)


async def test_who_changes_what_is_imported_is_put_back(tmp_path: Path) -> None:
    """All tests are collected before the first is run: what a module does there, it does to all of them."""
    sly = "\n\nimport tool.part_2\ntool.part_2.f_2 = lambda number: number * 2\n"
    claims = of_kinds("improved", "false", "fixed", "fixed")
    found = await together(tmp_path, claims, edited(1, 4, "pass", at_the_end=sly))
    assert isinstance(found[1], PutBack)
    assert isinstance(found[2], PutBack)
    assert isinstance(found.get(3), Verdict)


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
    assert {number for number, each in found.items() if isinstance(each, PutBack)} == {2}


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
async def test_who_passes_by_the_work_of_others_is_put_back(tmp_path: Path, path: str, text: str, setup: str) -> None:
    """Its own work is a comment; what mends its test is done where no line of it is reached."""
    claims = of_kinds("fixed", "improved", "fixed")
    made = await generate(tmp_path, claims, 3, profile=replace(PROFILE, setup=setup))
    own = files_of(claims, 3)["tests/test_1.py"]
    rework(made, 1, "tests/test_1.py", f"{own}\n\n# It is mended.\n", made.batch.base)
    also(made, 2, path, files_of(claims, 3, claims[1]).get(path, "") + text)
    found = await (await judge_of(tmp_path)).verify_together(made.batch, made.jobs)
    assert isinstance(found[1], PutBack), found[1]
    assert isinstance(found[3], Verdict), found[3]
    print(found[1], found[2])


# --- at random


@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(6))
async def test_every_verdict_is_the_one_that_is_deserved(seed: int, tmp_path: Path) -> None:
    made, found = await settled(tmp_path, plan(24, 8, seed, bad=0.3), 8)
    check(made, found)
