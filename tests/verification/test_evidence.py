"""What runs show of a claim, on real pytest: what its test reaches and catches, what it needs, and what it knows."""

from pathlib import Path

import pytest

from tests.verification.busy import BusyTrials
from tests.verification.courtroom import FIXED, TESTS, TOOL, courtroom, node, shown

DOUBLE, HALF, PRINTED, GREETING = (node(name) for name in ("double", "half", "printed", "greeting"))
HALVED = "    assert half(4) == 2\n"
PRINTS = """\
    result = run(sys.executable, "tool.py", "double", "2")
    assert result.stdout == "4\\n"
"""
GREETED = '    assert run("bin/greet", "you").stdout == "hello you\\n"\n'


async def test_a_fix_shows_that_its_test_reaches_it_and_needs_it(tmp_path: Path) -> None:
    """With the test as it was, failing at the base is its strength: nothing else is tried."""
    async with courtroom(tmp_path) as here:
        verdict = await here.verdict(DOUBLE, "fixed", {"tool.py": FIXED, "README.md": "It doubles.\n"})
        evidence = shown(verdict)

        assert (verdict.verification, verdict.doubts) == ("verified", ())
        assert (evidence.reach.lines_before, evidence.reach.lines_after) == (2, 2)
        assert evidence.necessity.needed == ("tool.py",)
        assert evidence.strength.tried == 0
        assert (evidence.alone, evidence.together) == (True, True)
        assert evidence.runs == 4, "its test, its file, hidden, and at the base"


async def test_lines_count_that_a_subprocess_reaches(tmp_path: Path) -> None:
    """Also where the test starts it with an environment of its own."""
    async with courtroom(tmp_path) as here:
        verdict = await here.verdict(node("printed_without_an_environment"), "fixed", {"tool.py": FIXED})

        assert verdict.verification == "verified"
        assert shown(verdict).reach.lines_after == 11
        assert shown(verdict).necessity.needed == ("tool.py",)


async def test_no_evidence_is_gathered_where_the_profile_says_so(tmp_path: Path) -> None:
    async with courtroom(tmp_path) as here:
        verdict = await here.verdict(DOUBLE, "fixed", {"tool.py": FIXED}, evidence_factor=0)

        assert verdict.verification == "verified"
        assert shown(verdict).runs == 2
        assert shown(verdict).reach.lines_after is None


async def test_a_test_that_tests_its_own_function_is_refused(tmp_path: Path) -> None:
    async with courtroom(tmp_path) as here:
        verdict = await here.edited(
            DOUBLE,
            "fixed",
            TOOL,
            ("    assert double(2) == 4", "    def twice(n):\n        return n + n\n\n    assert twice(2) == 4"),
        )

        assert verdict.verification == "refused"
        assert verdict.reason == "reach: its test uses nothing of the implementation any more; before: tool.py"


async def test_a_file_that_nothing_needs_is_named(tmp_path: Path) -> None:
    """One that is needed by another that is needed is not."""
    async with courtroom(tmp_path) as here:
        files = {"tool.py": f"from adding import add\n{FIXED.replace('n + n', 'add(n, n)')}"}
        files |= {"adding.py": "def add(a, b):\n    return a + b\n", "other.py": "x = 1\n"}
        verdict = await here.verdict(DOUBLE, "fixed", files)

        assert verdict.verification == "verified"
        assert shown(verdict).necessity.needed == ("adding.py", "tool.py")
        assert verdict.doubts == ("its test passes without other.py, too: nothing shows what it is for",)


# --- a busy machine

IDLE = "idle_a.py, idle_b.py, idle_c.py"
#: so little that the first experiment uses it up
NO_TIME = 0.0001


async def test_with_no_time_left_four_files_are_tried_all_the_same(tmp_path: Path) -> None:
    async with courtroom(tmp_path, BusyTrials) as here:
        files = {"tool.py": FIXED} | {f"idle_{each}.py": "x = 1\n" for each in "abc"}
        verdict = await here.verdict(DOUBLE, "fixed", files, evidence_factor=NO_TIME)

        assert verdict.verification == "verified"
        assert verdict.doubts == (f"its test passes without {IDLE}, too: nothing shows what they are for",)


async def test_with_no_time_left_a_file_that_was_not_tried_is_a_doubt(tmp_path: Path) -> None:
    """Of many files, the one that is needed and those of its group can't be told apart."""
    async with courtroom(tmp_path, BusyTrials) as here:
        files = {"tool.py": FIXED} | {f"idle_{each}.py": "x = 1\n" for each in "abcdefgh"}
        verdict = await here.verdict(DOUBLE, "fixed", files, evidence_factor=NO_TIME)

        assert verdict.doubts == (
            f"its test passes without {IDLE} and 4 more, too: nothing shows what they are for",
            "there was no time to try its test without idle_h.py, tool.py",
        )
        assert shown(verdict).necessity.not_tried == "no time was left for idle_h.py, tool.py"


async def test_with_no_time_left_faults_that_were_not_tried_are_counted(tmp_path: Path) -> None:
    """The drastic ones are tried."""
    async with courtroom(tmp_path, BusyTrials) as here:
        more = (HALVED, f"{HALVED}    assert half(9) == 4\n")
        verdict = await here.edited(HALF, "improved", TOOL, more, evidence_factor=NO_TIME)

        assert (verdict.verification, verdict.doubts) == ("verified", ())
        assert shown(verdict).strength.tried == 3
        assert shown(verdict).strength.not_tried.startswith("no time was left for ")


# --- ignorance

IN_PROCESS = FIXED.replace("    return n + n\n", "    return n + n + ('py' + 'test' not in sys.modules)\n")
IN_SUBPROCESS = FIXED.replace(
    "    print(double(", "    import os\n\n    print(any(x[:4] == 'PYTE' for x in os.environ) and double("
)
SIGNED = TOOL.replace("    print(double(", "    import os\n\n    print(os.environ.get('CI', ''), double(")


@pytest.mark.proof
async def test_what_works_only_while_it_is_tested_is_refused(tmp_path: Path) -> None:
    async with courtroom(tmp_path) as here:
        inside = await here.verdict(DOUBLE, "fixed", {"tool.py": IN_PROCESS})
        outside = await here.verdict(PRINTED, "fixed", {"tool.py": IN_SUBPROCESS})

        assert inside.verification == "refused"
        assert (
            inside.reason == "ignorance: it works only while it is tested: tool.py:7 looks for pytest in sys.modules"
        )
        assert outside.verification == "refused"
        assert outside.reason.startswith("ignorance: it works only while it is tested, and else it fails:")


@pytest.mark.proof
async def test_a_test_may_set_what_tells_tests(tmp_path: Path) -> None:
    """A tool that says something else in CI is tested by a test that says so."""
    async with courtroom(tmp_path, **{"tool.py": SIGNED}) as here:
        fixed = SIGNED.replace("n + n + 1", "n + n")
        verdict = await here.edited(
            PRINTED,
            "fixed",
            fixed,
            ("def test_printed():", "def test_printed(monkeypatch):\n    monkeypatch.setenv('CI', 'yes')"),
            (PRINTS, PRINTS.replace("4", "yes 4")),
        )

        assert verdict.verification == "verified"
        assert not [each for each in verdict.doubts if "CI" in each or "tested" in each]


# --- strength


@pytest.mark.proof
async def test_a_test_that_is_better_than_before_raises_no_doubt(tmp_path: Path) -> None:
    async with courtroom(tmp_path) as here:
        verdict = await here.edited(HALF, "improved", TOOL, (HALVED, f"{HALVED}    assert half(9) == 4\n"))

        assert (verdict.verification, verdict.doubts) == ("verified", ())
        assert shown(verdict).strength.tried == shown(verdict).strength.caught > 3


@pytest.mark.proof
async def test_a_test_that_catches_less_is_doubted_by_number(tmp_path: Path) -> None:
    async with courtroom(tmp_path) as here:
        verdict = await here.edited(HALF, "improved", TOOL, (HALVED, "    assert half(4) is not None\n"))
        strength = shown(verdict).strength

        assert verdict.verification == "verified"
        assert strength.caught_before is not None
        assert strength.caught < strength.caught_before
        counted = (
            f"catches {strength.caught} of {strength.tried} faults, the test before caught {strength.caught_before}"
        )
        assert any(counted in each for each in verdict.doubts)


@pytest.mark.proof
async def test_a_test_that_failed_before_is_compared_by_what_it_said(tmp_path: Path) -> None:
    """It fails at any fault: with other words, where it had noticed it."""
    async with courtroom(tmp_path) as here:
        verdict = await here.edited(DOUBLE, "fixed", TOOL, ("double(2) == 4", "double(2) > 1"))
        strength = shown(verdict).strength

        assert strength.caught_before is not None
        assert strength.caught < strength.caught_before
        assert verdict.doubts


@pytest.mark.proof
async def test_a_test_that_passes_all_drastic_faults_is_refused(tmp_path: Path) -> None:
    """It reaches the function, and nobody hears of what comes of it."""
    async with courtroom(tmp_path) as here:
        vacuous = "    import threading\n\n    one = threading.Thread(target=half, args=(4,))\n"
        vacuous += "    one.start()\n    one.join()\n"
        vacuous += "    assert one.is_alive() == bool(half is None)\n"
        verdict = await here.edited(HALF, "improved", TOOL, (HALVED, vacuous))

        assert verdict.verification == "refused"
        assert verdict.reason.startswith(
            "strength: its test passes all of 3 drastic faults: all that was reached raises"
        )


@pytest.mark.proof
async def test_a_program_in_any_language_is_lied_about(tmp_path: Path) -> None:
    async with courtroom(tmp_path) as here:
        more = f'{GREETED}    assert run("bin/greet", "me").stdout == "hello me\\n"\n'
        better = await here.edited(GREETING, "improved", TOOL, (GREETED, more))
        worse = await here.edited(
            GREETING, "improved", TOOL, (GREETED, GREETED.replace(r'stdout == "hello you\n"', "returncode == 0"))
        )

        assert (better.verification, better.doubts) == ("verified", ())
        assert shown(better).reach.files == ("bin/greet",)
        assert shown(better).strength.caught >= 4
        assert shown(worse).strength.survived[0] == "bin/greet does nothing"
        assert any("the test before caught" in each for each in worse.doubts)


@pytest.mark.proof
async def test_a_new_test_beside_it_must_be_able_to_fail(tmp_path: Path) -> None:
    """By what it reaches itself; one that uses nothing of the repository is doubted."""
    async with courtroom(tmp_path) as here:
        good = "\n\ndef test_half_of_nine():\n    assert half(9) == 4\n"
        idle = '\n\ndef test_words():\n    assert len("words") == 5\n'
        vacuous = "\n\ndef test_tried():\n    try:\n        half(9)\n    except Exception:\n        pass\n"
        verdicts = [
            await here.verdict(HALF, "improved", {"tests/test_tool.py": TESTS + more})
            for more in (good, idle, vacuous)
        ]

        assert (verdicts[0].verification, verdicts[0].doubts) == ("verified", ())
        doubt = "nothing shows that test_words can fail: it uses nothing of the repository"
        assert (verdicts[1].verification, doubt in verdicts[1].doubts) == ("verified", True)
        assert verdicts[2].verification == "refused"


_AT_IMPORT = """\
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import tool

assert tool.half(8) == 4
"""


async def test_faults_of_what_runs_while_tests_are_collected_begin_with_the_test(tmp_path: Path) -> None:
    """A conftest that runs the implementation would fail at every fault of it, whatever the tests check."""
    vacuous = "    import threading\n\n    one = threading.Thread(target=half, args=(4,))\n    one.start()\n"
    async with courtroom(tmp_path, **{"conftest.py": _AT_IMPORT}) as here:
        weak = await here.edited(HALF, "improved", TOOL, (HALVED, f"{vacuous}    assert one.name\n"))
        good = await here.edited(HALF, "improved", TOOL, (HALVED, f"{HALVED}    assert half(9) == 4\n"))

        assert any(each.startswith("its test passes all of 2 drastic faults") for each in weak.doubts), weak
        assert (good.verification, good.doubts) == ("verified", ())
        assert shown(good).strength.tried == shown(good).strength.caught == 2
