"""Siblings on real git and real pytest: which tests fail at one place of shared code, and whether a fix helps."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from supervisor.adapters.layout import Layout
from supervisor.model.batch import Batch
from supervisor.model.job import Job, JobState
from supervisor.model.siblings import Fix
from supervisor.model.survey import Surveyed
from supervisor.model.verdict import Verdict
from supervisor.ports import PutBack
from supervisor.verification.judge import ProvingJudge, opened_judge
from tests.verification.arena import Arena, arena

CONFTEST = """\
import pytest

import till


@pytest.fixture
def shop():
    return open("shop.txt").read()


@pytest.fixture(scope="session")
def bank():
    return till.opened("bank")


@pytest.fixture
def lookup(request):
    return request.getfixturevalue("nobody_has_this")
"""
TILL = """\
def opened(name):
    raise OSError(f"no till at 0x7f{len(name)}")


def checked(value):
    assert value == 1, f"{value} pears"
"""
TESTS = """\
import pytest

import till


def test_shop(shop):
    assert shop


@pytest.mark.parametrize("n", [1, 2])
def test_shop_cases(shop, n):
    assert shop


def test_bank(bank):
    pass


def test_bank_again(bank):
    pass


def test_called():
    till.opened("shop")


def test_missing(not_there):
    pass


def test_lookup(lookup):
    pass


def test_of_its_own():
    def inside():
        raise OSError("no till at 0x7f4")

    inside()


@pytest.mark.parametrize("n", [1, 2])
def test_two_ways(request, n):
    request.getfixturevalue("shop" if n == 1 else "bank")


def test_checked():
    till.checked(2)


def test_checked_again():
    till.checked(3)


def test_green():
    pass
"""
FILES: dict[str, str | bytes | None] = {"conftest.py": CONFTEST, "till.py": TILL, "test_all.py": TESTS}
_FAMILIES = ("shop", "shop_cases", "bank", "bank_again", "called")
NAMES = (*_FAMILIES, "missing", "lookup", "of_its_own", "two_ways", "checked", "checked_again", "green")
TEST_IDS = tuple(f"test_all.py::test_{name}" for name in NAMES)
MENDED: dict[str, str | bytes | None] = {"shop.txt": "pears"}


@asynccontextmanager
async def shops(folder: Path) -> AsyncIterator[tuple[Arena, ProvingJudge]]:
    async with arena(folder, FILES) as here:
        yield here, await opened_judge(here.store, Layout(folder / "state"))


def batch(here: Arena, **profile: Any) -> Batch:
    return here.batch(*TEST_IDS, **{"hold_siblings": True, "evidence_factor": 0, **profile})


def named(found: Surveyed) -> dict[str, list[str]]:
    return {place: [NAMES[number - 1] for number in jobs] for place, jobs in found.families.items()}


async def test_tests_that_fail_at_one_place_of_shared_code_are_a_family(tmp_path: Path) -> None:
    """A missing fixture is nobody's code, and a test that fails in its own code is on its own, as is one whose cases
    fail at several places. An assertion with other numbers is another reason."""
    async with shops(tmp_path) as (here, judge):
        found = await judge.survey(batch(here), ["test_all.py"])
    assert named(found) == {
        "conftest.py:8 in shop: FileNotFoundError: [Errno …] No such file or directory: 'shop.txt'": [
            "shop",
            "shop_cases",
        ],
        "till.py:2 in opened: OSError: no till at …": ["bank", "bank_again", "called"],
        "till.py:6 in checked: AssertionError: 2 pears": ["checked"],
        "till.py:6 in checked: AssertionError: 3 pears": ["checked_again"],
    }
    assert (found.red, found.shared, found.green) == (13, 10, 1), "counted with the cases of who has no siblings"


async def test_without_the_key_nothing_is_said_of_families(tmp_path: Path) -> None:
    async with shops(tmp_path) as (here, judge):
        found = await judge.survey(batch(here, hold_siblings=False), ["test_all.py"])
    assert (found.families, found.shared) == ({}, 0)


def held(here: Arena, number: int, head: str) -> Job:
    return Job(number, TEST_IDS[number - 1], JobState.VERIFYING, borrowed=Fix(9, head))


async def alone(folder: Path, files: dict[str, str | bytes | None], number: int) -> Verdict:
    async with shops(folder) as (here, judge):
        return await judge.verify(batch(here), held(here, number, here.commit(files)))


async def test_a_test_that_passes_with_the_fix_of_a_sibling_is_verified(tmp_path: Path) -> None:
    verdict = await alone(tmp_path, MENDED, 2)
    assert (verdict.outcome, verdict.verification, verdict.reason) == (
        "fixed-by-sibling",
        "verified",
        "passed 2 of 2",
    )
    assert verdict.failed_before


async def test_one_that_still_fails_says_why(tmp_path: Path) -> None:
    verdict = await alone(tmp_path, MENDED, 3)
    assert (verdict.outcome, verdict.verification) == ("failed", "unverified")
    assert "no till" in verdict.reason


async def test_a_fix_that_takes_cases_away_or_skips_them_does_not_help(tmp_path: Path) -> None:
    fewer = {**MENDED, "test_all.py": TESTS.replace('"n", [1, 2])\ndef test_shop', '"n", [1])\ndef test_shop')}
    verdict = await alone(tmp_path, fewer, 2)
    assert verdict.reason == "test_all.py::test_shop_cases[2] is not there any more"


async def test_a_fix_that_skips_the_siblings_test_does_not_help(tmp_path: Path) -> None:
    skips: dict[str, str | bytes | None] = {
        "conftest.py": CONFTEST.replace('return open("shop.txt").read()', 'pytest.skip("no shop")')
    }
    assert (await alone(tmp_path, skips, 1)).verification == "unverified"


async def test_a_fix_that_replaces_the_siblings_test_does_not_help(tmp_path: Path) -> None:
    hook = (
        "\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n        item.obj = lambda shop: 1\n"
    )
    verdict = await alone(tmp_path, {**MENDED, "conftest.py": CONFTEST + hook}, 1)
    assert verdict.verification == "unverified"
    assert verdict.reason.startswith("what runs as test_all.py::test_shop is ")


async def test_siblings_are_tried_by_common_runs_and_who_fails_goes_alone(tmp_path: Path) -> None:
    async with shops(tmp_path) as (here, judge):
        head = here.commit(MENDED)
        found = await judge.verify_together(batch(here), [held(here, number, head) for number in (1, 2, 3)])
    assert [getattr(found[number], "verification", None) for number in (1, 2)] == ["verified"] * 2
    assert isinstance(found[3], PutBack)


async def test_a_setup_that_fails_with_the_fix_helps_nobody(tmp_path: Path) -> None:
    async with shops(tmp_path) as (here, judge):
        head = here.commit(MENDED)
        setup = batch(here, setup="test ! -e shop.txt || { echo no room; false; }")
        found = await judge.verify_together(setup, [held(here, number, head) for number in (1, 2)])
        single = await judge.verify(setup, held(here, 1, head))
    assert {getattr(each, "verification", None) for each in (*found.values(), single)} == {"unverified"}
