"""A claim whose test notices the work of others is heard in a view of the checkout without that work."""

from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.ports import PutBack
from tests.verification.generated import PROFILE, Claim, files_of, generate
from tests.verification.grouped import also, check, edited, of_kinds, rework, together
from tests.verification.settling import judge_of, settle


@pytest.mark.parametrize(
    ("setup", "groups"),
    [pytest.param("", [], id="in one group"), pytest.param("true", [(1, 2, 4, 6)], id="after a setup: in the next")],
)
async def test_who_meets_others_is_heard_without_them(
    setup: str, groups: list[tuple[int, ...]], tmp_path: Path
) -> None:
    """What a setup has made may depend on any file, so then no file is replaced."""
    kinds = of_kinds("improved", "improved", "fixed", "improved", "fixed", "improved")
    made = await generate(tmp_path, kinds, 6, profile=replace(PROFILE, evidence_factor=0, setup=setup))
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
    assert found.groups == [(1, 2, 3, 4, 5, 6), *groups]
    check(made, found)


async def test_work_in_conflict_is_heard_in_its_own_version(tmp_path: Path) -> None:
    """Each of them changes what the other changes, and its test wants that."""
    claims = of_kinds("improved", "improved", "improved", files=3)
    made = await generate(tmp_path, claims, 3, profile=replace(PROFILE, evidence_factor=0))
    for job in (1, 2):
        also(made, job, "tool/__init__.py", f"WHO = {job}\n")
        path, wants = f"tests/test_{job}.py", f"    import tool\n    assert tool.WHO == {job}\n"
        also(made, job, path, files_of(claims, 3, claims[job - 1])[path] + wants)
    found = await settle(await judge_of(tmp_path), made)
    assert (found.groups, found.put_back) == ([(1, 2, 3)], {})
    check(made, found)


async def test_who_needs_the_work_that_its_own_conflicts_with_is_found_out(tmp_path: Path) -> None:
    claims = of_kinds("improved", "improved", files=2)
    made = await generate(tmp_path, claims, 2, profile=replace(PROFILE, evidence_factor=0))
    for job in (1, 2):
        also(made, job, "tool/__init__.py", f"WHO = {job}\n")
    path = "tests/test_0.py"
    also(made, 2, path, f"{files_of(claims, 2, claims[1])[path]}    import tool\n    assert tool.WHO == 1\n")
    found = await settle(await judge_of(tmp_path), made)
    assert found.verdicts[1].verification == "verified"
    assert found.verdicts[2].verification == "unverified"


_AWK = "subprocess.run(['awk', {program!r}, {file!r}], check=True, stdout=subprocess.DEVNULL)"


async def test_a_program_without_notes_notices_the_files_that_it_opens(tmp_path: Path) -> None:
    """The kernel tells which they are."""
    kinds = of_kinds("improved", "improved", "fixed")
    elsewhere = edited(1, 3, _AWK.format(program="{ print }", file="tool/part_2.py"))
    assert not await meeting(tmp_path / "1", kinds, elsewhere)
    at_the_fix = edited(1, 3, _AWK.format(program="{ print }", file="tool/part_0.py"))
    assert await meeting(tmp_path / "2", kinds, at_the_fix) == {1}
    listing = edited(1, 3, "subprocess.run(['find', 'tool'], check=True, stdout=subprocess.DEVNULL)")
    assert await meeting(tmp_path / "3", kinds, listing) == {1}


async def meeting(folder: Path, claims: list[Claim], *works: tuple[int, str, str]) -> set[int]:
    """Those whose tests notice the work of others: after a setup they are put back."""
    found = await together(folder, claims, *works, setup="true")
    return {number for number, each in found.items() if isinstance(each, PutBack) and each.meets}
