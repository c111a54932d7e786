"""What runs leave open is said: those that were cut short, those that were not made, and what was noted of none."""

from pathlib import Path

from tests.verification.busy import HangingTrials, LateTrials
from tests.verification.courtroom import FIXED, TESTS, TOOL, courtroom, node, shown

DOUBLE, HALF = node("double"), node("half")
HALVED = "    assert half(4) == 2\n"


async def test_a_run_that_is_late_with_the_work_and_without_shows_nothing(tmp_path: Path) -> None:
    """A machine that came to a halt needs no file, and catches no fault."""
    async with courtroom(tmp_path, LateTrials) as here:
        late = "it does not end in time, with the work as it is, too"
        fixed = await here.verdict(DOUBLE, "fixed", {"tool.py": FIXED, "idle.py": "x = 1\n"})
        edited = await here.edited(HALF, "improved", TOOL, (HALVED, f"{HALVED}    assert half(9) == 4\n"))

        assert fixed.doubts == (f"reach could not be shown: {late}", f"necessity could not be shown: {late}")
        assert (shown(fixed).reach.not_tried, shown(fixed).necessity.not_tried) == (late, late)
        assert f"strength could not be shown: {late}" in edited.doubts


async def test_a_run_that_is_late_only_without_the_work_shows_that_it_is_needed(tmp_path: Path) -> None:
    async with courtroom(tmp_path, HangingTrials) as here:
        verdict = await here.verdict(DOUBLE, "fixed", {"tool.py": FIXED})

        assert (verdict.verification, verdict.doubts) == ("verified", ())
        assert shown(verdict).necessity.needed == ("tool.py",)


async def test_a_file_that_did_not_end_at_the_base_is_no_measure(tmp_path: Path) -> None:
    """What fails now may be the work's. Where all of it passes, nothing is broken."""
    tool = f"{TOOL}\n\ndef leave():\n    import os\n    os._exit(3)\n"
    test = "def test_leave():\n    import tool\n\n    assert tool.leave() == 1\n\n\n"
    async with courtroom(tmp_path, **{"tool.py": tool, "tests/test_tool.py": test + TESTS}) as here:
        stays = tool.replace("os._exit(3)", "return 1")
        some = await here.verdict(node("leave"), "fixed", {"tool.py": stays})
        all_of_it = await here.verdict(node("leave"), "fixed", {"tool.py": stays.replace("n + n + 1", "n + n")})

        why = "what its file came to at the base is not known (pytest ended with 3 before its session did)"
        named = "test_double, test_printed, test_printed_without_an_environment"
        assert (some.verification, all_of_it.verification) == ("verified", "verified")
        assert some.doubts == (f"{why}, so {named} may have passed there, and fails now",)
        assert all_of_it.doubts == ()


async def test_a_test_that_passes_only_alone_is_a_doubt(tmp_path: Path) -> None:
    """Whoever runs its whole file will see it fail."""
    first = "import os\n\n\ndef test_first():\n    os.environ['LEFT'] = '1'\n\n\n"
    async with courtroom(tmp_path, **{"tests/test_tool.py": first + TESTS}) as here:
        alone = "    import os\n\n    assert 'LEFT' not in os.environ\n"
        fixed = FIXED.replace("def double(n):\n", f"def double(n):\n{alone}")
        verdict = await here.verdict(DOUBLE, "fixed", {"tool.py": fixed})

        assert (verdict.verification, shown(verdict).together) == ("verified", False)
        assert any(
            each.startswith("its test passes alone, and not in a run of its whole file: ") for each in verdict.doubts
        )


async def test_who_fails_in_its_file_by_chance_is_flaky(tmp_path: Path) -> None:
    """A test that passed twice and then failed there is run again. Here every third run fails."""
    turns = tmp_path / "turns"
    counted = f"    with open({str(turns)!r}, 'a+') as file:\n        file.write('.')\n    assert "
    counted += f"len(open({str(turns)!r}).read()) % 3\n"
    async with courtroom(tmp_path) as here:
        fixed = FIXED.replace("def double(n):\n", f"def double(n):\n{counted}")
        verdict = await here.verdict(
            DOUBLE, "fixed", {"tool.py": fixed}, verify_runs=2, evidence_factor=0, sandbox="off"
        )

        assert (verdict.verification, verdict.reason[:24]) == ("flaky", "passed 3 of 4: it fails:")


async def test_more_new_tests_than_are_tried_are_a_doubt(tmp_path: Path) -> None:
    async with courtroom(tmp_path) as here:
        more = "".join(f"\n\ndef test_half_{each}():\n    assert half({each}) == {each // 2}\n" for each in range(12))
        verdict = await here.verdict(HALF, "improved", {"tests/test_tool.py": TESTS + more})

        assert verdict.doubts == (
            "2 more new tests were not tried: tests/test_tool.py::test_half_10, tests/test_tool.py::test_half_11",
        )


async def test_who_leaves_more_notes_than_are_read_is_doubted(tmp_path: Path) -> None:
    """What the probes would have noted is hidden behind them."""
    floods = """    import os, sys

    for each in [os.path.join(each, "seen") for each in sys.path]:
        if os.path.isfile(each):
            with open(each, "a") as file:
                file.write("x" * 9 * 2**20)
"""
    async with courtroom(tmp_path) as here:
        files = {"tool.py": FIXED.replace("    if n < 0:\n", f"{floods}    if n < 0:\n", 1)}
        verdict = await here.verdict(DOUBLE, "fixed", files)

        assert "not all is known that its test did: there are too many notes of it, or none" in verdict.doubts


async def test_what_ends_where_nothing_is_tested_is_a_doubt(tmp_path: Path) -> None:
    ends = "    import os, sys\n\n    if sys.argv[-1].endswith('again_0.py'):\n        os._exit(1)\n"
    async with courtroom(tmp_path) as here:
        files = {"tool.py": FIXED.replace("    if n < 0:\n", f"{ends}    if n < 0:\n", 1)}
        verdict = await here.verdict(DOUBLE, "fixed", files)

        doubt = "tool.py was not asked again where nothing is tested: that took too long, or ended early"
        assert verdict.verification == "verified"
        assert doubt in verdict.doubts
