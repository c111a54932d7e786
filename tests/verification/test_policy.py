"""Each known way to make a test green without making it true is refused under its own name; honest work is not."""

import json
from textwrap import dedent

import pytest

from supervisor.flow.batches import unmerged
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.denied import DENIED
from supervisor.model.effect import Collect, Launch, Verify
from supervisor.model.ledger import Fate
from supervisor.model.verdict import Verdict, Verification
from supervisor.rehearsal import DEFECTS, TARGET
from supervisor.verification.rules.places import Allowed, kind_of
from supervisor.verification.rules.policy import FileChange, breaches
from tests.flow.world import World

PATH = "tests/e2e/test_it.py"
TEST = f"{PATH}::test_one"
BASE = dedent('''
    """Tests."""

    import pytest

    from helpers import expect, run


    def test_one(e2e):
        """One is listed."""
        listed = run("list")
        assert "one" in listed
        expect(listed).to_contain("1")


    @pytest.mark.timeout(30)
    @pytest.mark.parametrize("name", ["a", "b"])
    def test_two(name):
        assert run(name) == name


    class TestMore:
        def test_three(self):
            with pytest.raises(ValueError):
                run("nothing")
''')
BODY = '    assert "one" in listed\n    expect(listed).to_contain("1")\n'
DEF = "def test_one(e2e):"


def rules(after: str | None, before: str | None = BASE, path: str = PATH, **options: object) -> list[str]:
    allowed = options.pop("allowed", Allowed(deny=DENIED))
    changes = [FileChange(path, before, after)]
    return [breach.rule for breach in breaches(changes, TEST, allowed, **options)]  # type: ignore[arg-type]


def edited(old: str, new: str) -> str:
    assert BASE.count(old) == 1, old
    return BASE.replace(old, new)


CHEATS = {
    "a skip marker": (edited(DEF, f"@pytest.mark.skip\n{DEF}"), "skip"),
    "a skip marker with a reason": (edited(DEF, f'@pytest.mark.skip(reason="flaky")\n{DEF}'), "skip"),
    "a skip under another name": (edited(DEF, f"from pytest import mark as m\n@m.skip\n{DEF}"), "skip"),
    "a condition that always holds": (edited(DEF, f'@pytest.mark.skipif(True, reason="")\n{DEF}'), "skipif"),
    "a skip of the whole file": (edited("import pytest\n", "import pytest\npytestmark = pytest.mark.skip\n"), "skip"),
    "a skip in the body": (edited(BODY, f'    pytest.skip("later")\n{BODY}'), "skip"),
    "a skip by import": (edited(BODY, f'    from pytest import skip as on\n    on("")\n{BODY}'), "skip"),
    "a skip by exception": (edited(BODY, f'    raise pytest.skip.Exception("")\n{BODY}'), "skip"),
    "a skip by unittest": (edited(BODY, f"    import unittest\n    raise unittest.SkipTest\n{BODY}"), "skip"),
    "a skip by name": (edited(BODY, f'    getattr(pytest, "skip")("")\n{BODY}'), "skip"),
    "an xfail marker": (edited(DEF, f"@pytest.mark.xfail\n{DEF}"), "xfail"),
    "an xfail in the body": (edited(BODY, '    pytest.xfail("known")\n'), "xfail"),
    "a marker that is added by name": (edited(BODY, f'    e2e.node.add_marker("xfail")\n{BODY}'), "xfail"),
    "a module that nobody has": (
        edited("import pytest\n", "import pytest\npytest.importorskip('x')\n"),
        "importorskip",
    ),
    "an early end of everything": (edited(BODY, f"    import os\n    os._exit(0)\n{BODY}"), "exit"),
    "runs until one passes": (edited(DEF, f"@pytest.mark.flaky(reruns=9)\n{DEF}"), "rerun"),
    "a timeout marker": (edited(DEF, f"@pytest.mark.timeout(600)\n{DEF}"), "timeout"),
    "a longer timeout": (edited("timeout(30)", "timeout(300)"), "timeout"),
    "no timeout": (edited("@pytest.mark.timeout(30)\n", ""), "timeout"),
    "a deleted test": (BASE[: BASE.index(DEF)] + BASE[BASE.index("@pytest.mark.timeout") :], "deleted"),
    "a renamed test": (edited(DEF, "def check_one(e2e):"), "deleted"),
    "a test of another name": (edited(DEF, "def test_other(e2e):"), "deleted"),
    "a renamed class": (edited("class TestMore", "class More"), "deleted"),
    "a class out of sight": (edited("class TestMore:\n", "class TestMore:\n    __test__ = False\n"), "deleted"),
    "a test out of sight": (BASE + "\ntest_one.__test__ = False\n", "deleted"),
    "a test taken back": (BASE + "\ndel test_one\n", "deleted"),
    "a test bound anew": (BASE + "\ntest_one = print\n", "deleted"),
    "a test that is only sometimes there": (edited(DEF, "if False:\n  def test_one(e2e):"), "deleted"),
    "a test shadowed by another": (BASE + '\ndef test_one():\n    """One is listed."""\n', "emptied"),
    "a deleted file": (None, "deleted"),
    "fewer parameters": (edited('["a", "b"]', '["a"]'), "parameters"),
    "no parameters": (edited('["a", "b"]', "[]"), "parameters"),
    "no assertions": (edited(BODY, "    print(listed)\n"), "emptied"),
    "nothing at all": (edited(f'    listed = run("list")\n{BODY}', "    pass\n"), "emptied"),
    "a return before the assertions": (edited(BODY, f"    return\n{BODY}"), "emptied"),
    "a return that may be": (edited(BODY, f"    if not listed:\n        return\n{BODY}"), "emptied"),
    "assertions under a condition": (edited(BODY, '    if listed:\n        assert "one" in listed\n'), "emptied"),
    "assertions in a loop over nothing": (edited(BODY, "    for each in []:\n        assert each\n"), "swallowed"),
    "assertions where it is false": (edited(BODY, '    if False:\n        assert "one" in listed\n'), "swallowed"),
    "assertions in a function that nobody calls": (
        edited(BODY, "    def no():\n        assert listed\n"),
        "swallowed",
    ),
    "try and pass": (
        edited(BODY, "    try:\n        assert listed\n    except Exception:\n        pass\n"),
        "swallowed",
    ),
    "try and pass, bare": (
        edited(BODY, "    try:\n        expect(listed)\n    except:\n        pass\n"),
        "swallowed",
    ),
    "suppressed": (
        edited(BODY, "    import contextlib\n    with contextlib.suppress(AssertionError):\n        assert listed\n"),
        "swallowed",
    ),
    "assert True": (edited(BODY, "    assert True\n"), "trivial"),
    "an assertion with a way out": (edited('"one" in listed', '"one" in listed or True'), "trivial"),
    "a tuple": (edited('assert "one" in listed', 'assert ("one" in listed, "it is")'), "trivial"),
    "itself": (edited('"one" in listed', "listed == listed"), "trivial"),
    "an expectation of a constant": (edited(BODY, "    expect(1)\n"), "emptied"),
    "another promise": (edited("One is listed.", "Something is listed, or nothing."), "scope"),
    "no promise": (edited('    """One is listed."""\n', ""), "scope"),
    "no Python": ("def test_one(:\n", "unreadable"),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_refused_by_its_name(cheat: str) -> None:
    after, rule = CHEATS[cheat]
    assert rule in rules(after)


HONEST = {
    "nothing": BASE,
    "a truer assertion": edited('"one" in listed', 'listed == "one 1"'),
    "one assertion less": edited('    assert "one" in listed\n', ""),
    "an unhappy path": edited(BODY, f'{BODY}    with pytest.raises(ValueError, match="two"):\n        run("two")\n'),
    "another test": BASE + "\n\ndef test_four():\n    assert run('four')\n",
    "one more parameter": edited('["a", "b"]', '["a", "b", "c"]'),
    "the same by a helper": edited(BODY, "    seen(listed)\n")
    + "\n\ndef seen(listed):\n    assert 'one' in listed\n",
    "an error that is raised again": edited(
        BODY, "    try:\n        assert listed\n    except AssertionError:\n        print(listed)\n        raise\n"
    ),
    "a loop": edited(BODY, "    for line in listed:\n        assert line\n"),
    "a marker": edited(DEF, f"@pytest.mark.release\n{DEF}"),
}


@pytest.mark.parametrize("change", HONEST)
def test_honest_work_is_not_refused(change: str) -> None:
    assert rules(HONEST[change]) == []


def test_a_skip_that_was_there_may_stay_or_go() -> None:
    skipped, _ = CHEATS["a skip marker"]
    assert rules(skipped, before=skipped) == []
    assert rules(BASE, before=skipped) == []


def test_a_file_that_could_not_be_read_before_is_left_to_the_runs() -> None:
    assert rules(BASE, before="def test_one(:\n") == []


def test_with_a_tutorial_that_was_wrong_the_promise_may_change() -> None:
    after, _ = CHEATS["another promise"]
    assert rules(after, kinds=("FIX_TUTORIAL", "FIX_TEST")) == []


SETTINGS = [
    ("pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q --timeout=900\n", "timeout"),
    ("setup.cfg", "[tool:pytest]\nx = 1\n", "[tool:pytest]\nx = 1\ntimeout = 90\n", "timeout"),
    ("tox.ini", "[tox]\n", "[tox]\n[pytest]\naddopts = -k fast\n", "configuration"),
    ("pyproject.toml", "[tool.pytest.ini_options]\nx = 1\n", "[tool.pytest.ini_options]\nx = 2\n", "configuration"),
    ("pyproject.toml", "[tool]\n", "[tool\n", "configuration"),
    ("pytest.ini", None, "[pytest]\ntimeout = 9\n", "timeout"),
    ("pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'b'\n", ""),
]


@pytest.mark.parametrize(("path", "before", "after", "rule"), SETTINGS)
def test_settings_of_pytest_stay_and_others_may_change(path: str, before: str | None, after: str, rule: str) -> None:
    assert [*rules(after, before=before, path=path), ""][0] == rule


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("conftest.py", "conftest"),
        ("tests/e2e/conftest.py", "conftest"),
        (".github/workflows/ci.yml", "path"),
        (".gitattributes", "path"),
        ("sub/uv.lock", "path"),
        ("pytest.py", "path"),
        ("_pytest/runner.py", "path"),
    ],
)
def test_what_decides_how_tests_run_is_not_edited(path: str, rule: str) -> None:
    assert rules("x = 1\n", before="", path=path) == [rule]


def test_a_profile_says_what_may_be_edited() -> None:
    """What is denied stays denied; where something is allowed, nothing else is."""
    narrow = Allowed(allow=("src/**", "tests/**"), deny=("secret.*",))
    assert rules("x", before="", path="src/deep/down/app.c", allowed=narrow) == []
    assert rules("x", before="", path="README.md", allowed=narrow) == ["path"]
    assert rules("x", before="", path="src/secret.c", allowed=narrow) == ["path"]
    assert rules("x", before="", path="tests/conftest.py", allowed=narrow) == []
    assert rules("x", before="", path="conftest.py", allowed=Allowed()) == []


def test_an_implementation_does_not_ask_whether_it_is_tested() -> None:
    after = "import os\nif 'PYTEST_CURRENT_TEST' in os.environ:\n    answer = 42\n"
    assert rules(after, before="import os\n", path="src/app.py") == ["detection"]


KINDS = [
    ("FIX_TEST", ["src/app.py"], "FIX_IMPL"),
    ("IMPROVE_TEST", ["src/app.py", PATH], "FIX_IMPL"),
    ("DOC", ["src/app.py", "README.md"], "FIX_IMPL"),
    ("FIX_IMPL", [PATH], "FIX_TEST"),
    ("FIX_IMPL", ["docs/guide.md"], "DOC"),
    ("FIX_IMPL", ["src/app.py", PATH], "FIX_IMPL"),
    ("IMPROVE_TEST", [PATH], "IMPROVE_TEST"),
    ("FIX_TEST", ["tests/e2e/stock.json"], "FIX_TEST"),
    ("FIX_TEST", ["tutorial.sh"], "FIX_TUTORIAL"),
    ("FIX_TUTORIAL", [PATH, "tutorial.sh"], "FIX_TUTORIAL"),
    ("", ["src/app.py"], "FIX_IMPL"),
    ("FIX_TEST", [], "FIX_TEST"),
]


@pytest.mark.parametrize(("said", "paths", "kind"), KINDS)
def test_a_commit_is_known_by_what_it_changes(said: str, paths: list[str], kind: str) -> None:
    assert kind_of(said, paths, TEST) == kind


def test_policy_and_the_rehearsal_agree() -> None:
    """Of all that the rehearsal's agents do, exactly what is meant to be refused is."""
    for test, seed in json.loads(DEFECTS.read_text())["tests"].items():
        texts: dict[str, tuple[str, str]] = {}
        changes = [change for change in seed.get("changes", []) if change["edits"]]
        for edit in (edit for change in changes for edit in change["edits"]):
            text = (TARGET / edit["path"]).read_text()
            before, after = texts.get(edit["path"], (text, text))
            texts[edit["path"]] = (before, after.replace("\n".join(edit["find"]), "\n".join(edit["replace"])))
        files = [FileChange(path, before, after) for path, (before, after) in texts.items()]
        kinds = [change["kind"] for change in changes]
        found = breaches(files, test, Allowed(deny=DENIED), kinds)
        wanted = seed["expected"].get("verification", "")
        if wanted.startswith("refused"):
            assert [f"refused: {breach.rule}" for breach in found] == [wanted]
        else:
            assert found == [], test
        for change in changes:
            paths = [edit["path"] for edit in change["edits"]]
            assert kind_of(change["kind"], paths, test) == change["kind"], test


FATES: dict[Verification, Fate] = {
    "refused": Fate.REJECTED,
    "flaky": Fate.REJECTED,
    "unverified": Fate.REJECTED,
    "verified": Fate.RESCUED,
    "not-needed": Fate.RESCUED,
}


def judged(verification: Verification) -> World:
    world = World(local=2).submit(tests=2).do(Launch).publish().do(Collect).gather()
    [verify] = world.pending(Verify)
    said = Verdict("failed", "", verification, "why", 2, 1, True, {"c0de": "FIX_IMPL"})
    return world.answer(verify, ev.WorkVerified.of(world.now, AttemptKey("b", 1, 1), said))


@pytest.mark.parametrize("verification", FATES)
def test_the_ledger_says_why_work_was_rejected(verification: Verification) -> None:
    """It is kept under its ref all the same."""
    row = unmerged(judged(verification).batch())[1]
    assert (row.fate, row.commits) == (FATES[verification], ("c0de",))
    assert row.fate is not Fate.REJECTED or row.detail == f"{verification}: why"


def test_a_job_remembers_what_was_found_of_its_claim() -> None:
    said = judged("flaky").job().verdict
    known = (said.verification, said.reason, said.runs, said.passed, said.failed_before)
    assert known == ("flaky", "why", 2, 1, True)
    assert said.relabelled == {"c0de": "FIX_IMPL"}


def test_the_next_attempt_is_not_judged_by_the_last() -> None:
    world = judged("refused").retry(1).do(Launch).publish().do(Collect)
    assert (world.job().attempts, world.job().verdict.verification) == (2, "")
