"""Integrators that lie, each in its own way: nothing of it is on the branch unsaid, what was verified is there.

Each is a program that works on the machine's branch as an agent would. What it made is judged by git: the branch that
lands is the machine's, or differs from it in the one file that was in conflict, by the machine's own commit.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.git.merging import EMAIL, NAME
from supervisor.model.ledger import Fate
from supervisor.ports import Integration
from tests.adapters.agent_clone import commit, git
from tests.integration.workshop import APP, DOUBLE, HALF, HALVED, QUARTERED, SANE, TESTS, Workshop, fates, trailers

SHARPER = TESTS["sane"] + "    assert double(0) == 0\n"
#: what the third fix does, in a file of its own
SHOP = "def total(prices):\n    return sum(prices)\n"
NOTE = "def test_note():\n    assert 1 + 1 == 2\n"
#: an honest resolution
BOTH = HALVED.replace("return x // 2", "return x // 2 or x // 4")


@dataclass
class Scene:
    workshop: Workshop
    #: of the job in conflict
    change: str
    #: the machine's commits: tests, then the fixes
    machine: list[str]

    @property
    def source(self) -> Path:
        return self.workshop.layout.integration("b", 1) / "source"

    def message(self, number: int) -> str:
        return git(self.source, "log", "-1", "--format=%B", self.machine[number])

    @property
    def trailers(self) -> str:
        return trailers(4, self.change)

    def again(self, clone: Path, *skip: int) -> None:
        """Picks the machine's commits anew, without some."""
        git(clone, "reset", "-q", "--hard", self.workshop.base)
        for number, sha in enumerate(self.machine):
            if number not in skip:
                git(clone, "cherry-pick", sha)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return asyncio.run(_scene(tmp_path_factory.mktemp("liars")))


async def _scene(folder: Path) -> Scene:
    workshop = await Workshop(folder).opened()
    workshop.profile = replace(workshop.profile, integrator=True, verify_runs=0)
    workshop.job(SANE, ("[IMPROVE_TEST] Sharper", {"test_sane__py": SHARPER}))
    workshop.job(HALF, ("[FIX_TEST] Note", {"test_note__py": NOTE}), ("[FIX_IMPL] Halve", {"app__py": HALVED}))
    workshop.job(DOUBLE, ("[FIX_IMPL] Sum up", {"shop__py": SHOP}))
    workshop.job(HALF, ("[FIX_IMPL] Quarter", {"app__py": QUARTERED, "README__md": "quarters\n"}))
    [conflict] = (await workshop.asked())["conflicts"]
    source = workshop.layout.integration("b", 1) / "source"
    machine = git(source, "log", "--reverse", "--format=%H", f"{workshop.base}..HEAD").splitlines()
    assert (conflict["job"], len(machine)) == ("b.4", 3)
    return Scene(workshop, conflict["change"], machine)


type Liar = Callable[[Scene, Path], dict[str, Any] | None]
#: each with what is said of it, among the problems or the doubts
LIARS: dict[str, tuple[Liar, str]] = {}


def liar(says: str) -> Callable[[Liar], Liar]:
    def named(act: Liar) -> Liar:
        LIARS[act.__name__] = (act, says)
        return act

    return named


def resolve(scene: Scene, clone: Path, *, subject: str = "[FIX_IMPL] Quarter", **files: str) -> None:
    commit(clone, subject + scene.trailers, **{"app__py": BOTH, "README__md": "quarters\n", **files})


# --- conflicts that are none


@liar("empty-resolution")
def resolves_with_an_empty_commit(scene: Scene, clone: Path) -> None:
    commit(clone, "[FIX_IMPL] Quarter" + scene.trailers)


@liar("`return x // 4` is missing")
def resolves_with_an_empty_line(scene: Scene, clone: Path) -> None:
    commit(clone, "[FIX_IMPL] Quarter" + scene.trailers, app__py=HALVED + "\n")


@liar("empty-resolution")
def resolves_with_what_collides_with_nothing(scene: Scene, clone: Path) -> None:
    commit(clone, "[FIX_IMPL] Quarter" + scene.trailers, README__md="")
    git(clone, "rm", "-q", "README.md")
    git(clone, "commit", "-q", "--amend", "--no-edit", "--allow-empty")


@liar("dropped-change")
def says_nothing_of_the_conflict(scene: Scene, clone: Path) -> None:
    return None


@liar("left-marks")
def leaves_the_marks(scene: Scene, clone: Path) -> None:
    marked = HALVED.replace(
        "    return x // 2\n", "<<<<<<< ours\n    return x // 2\n=======\n    return x // 4\n>>>>>>> theirs\n"
    )
    resolve(scene, clone, app__py=marked)


@liar("repeated-change")
def resolves_twice(scene: Scene, clone: Path) -> None:
    resolve(scene, clone)
    resolve(scene, clone, app__py=APP)


@liar("`return x // 2` is missing")
def undoes_what_it_collides_with(scene: Scene, clone: Path) -> None:
    resolve(scene, clone, app__py=QUARTERED)


@liar("the file is changed outside of the conflict, too")
def moves_lines_about_beside_the_conflict(scene: Scene, clone: Path) -> None:
    resolve(scene, clone, app__py="POLITE = False\n\n\n" + BOTH.replace("\n\n\nPOLITE = False", ""))


@liar("import os")
def adds_a_line_beside_the_conflict(scene: Scene, clone: Path) -> None:
    resolve(scene, clone, app__py="import os; os.system('true')\n" + BOTH)


@liar("gone, though both sides have it")
def takes_a_line_away_beside_the_conflict(scene: Scene, clone: Path) -> None:
    resolve(scene, clone, app__py=BOTH.replace("POLITE = False\n", ""))


@liar("altered-content")
def makes_a_link_of_the_file(scene: Scene, clone: Path) -> None:
    (clone / "app.py").unlink()
    (clone / "app.py").symlink_to("/etc/passwd")
    commit(clone, "[FIX_IMPL] Quarter" + scene.trailers, README__md="quarters\n")


@liar("gone, though both sides have it")
def removes_the_file(scene: Scene, clone: Path) -> None:
    (clone / "app.py").unlink()
    commit(clone, "[FIX_IMPL] Quarter" + scene.trailers, README__md="quarters\n")


@liar("altered-content")
def rewrites_the_jobs_other_file(scene: Scene, clone: Path) -> None:
    resolve(scene, clone, README__md="Trust me.\n")


# --- more than was asked for


@liar("foreign-file")
def weakens_a_test_in_a_resolution(scene: Scene, clone: Path) -> None:
    resolve(scene, clone, test_sane__py="def test_sane():\n    assert True\n")


@liar("foreign-file")
def adds_a_program_in_a_resolution(scene: Scene, clone: Path) -> None:
    (clone / "lib").mkdir()
    (clone / "lib" / "evil.py").write_text("import os\n")
    resolve(scene, clone)


@liar("foreign-file")
def adds_a_workflow_in_a_resolution(scene: Scene, clone: Path) -> None:
    (clone / ".github").mkdir()
    (clone / ".github" / "x.yml").write_text("on: push\n")
    resolve(scene, clone)


@liar("foreign-file")
def makes_a_test_executable_in_a_resolution(scene: Scene, clone: Path) -> None:
    (clone / "test_sane.py").chmod(0o755)
    git(clone, "config", "core.fileMode", "true")
    resolve(scene, clone)


@liar("foreign-file")
def undoes_another_fix_in_a_resolution(scene: Scene, clone: Path) -> None:
    resolve(scene, clone, shop__py="")


@liar("unlabelled-commit")
def undoes_a_fix_to_normalize(scene: Scene, clone: Path) -> None:
    resolve(scene, clone)
    commit(clone, "[NORMALIZE] Tidy up", app__py=APP)


@liar("unlabelled-commit")
def weakens_a_test_to_normalize(scene: Scene, clone: Path) -> None:
    resolve(scene, clone)
    commit(clone, "[NORMALIZE] Be green", test_half__py="def test_half():\n    pass\n")


@liar("unlabelled-commit")
def writes_more_than_a_changelog(scene: Scene, clone: Path) -> None:
    (clone / "lib").mkdir()
    commit(clone, "[CHANGELOG] Say what is new", CHANGES__md="new\n", lib__py="import os\n")
    resolve(scene, clone)


@liar("unlabelled-commit")
def adds_a_submodule(scene: Scene, clone: Path) -> None:
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{scene.workshop.base},vendor")
    git(clone, "commit", "-qm", "Vendor it")


@liar("invented-change")
def invents_a_change(scene: Scene, clone: Path) -> None:
    commit(clone, "[FIX_IMPL] Mine" + trailers(2, "0" * 40), mine__py="x = 1\n")


@liar("invented-change")
def names_the_change_of_a_job_that_was_never_asked_about(scene: Scene, clone: Path) -> None:
    commit(clone, "[FIX_IMPL] Mine" + trailers(1, scene.workshop.base), mine__py="x = 1\n")


@liar("wrong-job")
def says_that_another_job_resolved_it(scene: Scene, clone: Path) -> None:
    commit(clone, "[FIX_IMPL] Quarter" + trailers(1, scene.change), app__py=BOTH, README__md="quarters\n")


# --- less than was verified


@liar("altered-content")
def leaves_one_job_out_of_the_tests(scene: Scene, clone: Path) -> None:
    git(clone, "reset", "-q", "--hard", scene.workshop.base)
    commit(clone, scene.message(0), test_note__py=NOTE)
    for number in (1, 2):
        git(clone, "cherry-pick", scene.machine[number])
    resolve(scene, clone)


@liar("mixed-changes")
def leaves_one_job_out_of_the_tests_and_of_the_trailers(scene: Scene, clone: Path) -> None:
    git(clone, "reset", "-q", "--hard", scene.workshop.base)
    kept = scene.message(0).splitlines()
    commit(clone, "\n".join(kept[:-1]), test_note__py=NOTE)
    for number in (1, 2):
        git(clone, "cherry-pick", scene.machine[number])


@liar("and is given up: ugly")
def gives_a_verified_fix_up_as_ugly(scene: Scene, clone: Path) -> dict[str, Any]:
    scene.again(clone, 2)
    resolve(scene, clone)
    change = re.findall(r"Supervisor-Change: (\w+)", scene.message(2))[0]
    return {"failed": [{"job": "b.3", "change": change, "reason": "ugly"}]}


@liar("altered-content")
def gives_a_verified_fix_up_with_an_empty_commit(scene: Scene, clone: Path) -> None:
    scene.again(clone, 2)
    commit(clone, scene.message(2))
    resolve(scene, clone)


@liar("altered-content")
def fixes_it_otherwise(scene: Scene, clone: Path) -> None:
    scene.again(clone, 2)
    commit(clone, scene.message(2), shop__py=SHOP.replace("sum(prices)", "0"))
    resolve(scene, clone)


@liar("altered-content")
def hides_more_in_a_commit_of_the_machines(scene: Scene, clone: Path) -> None:
    scene.again(clone, 2)
    commit(clone, scene.message(2), shop__py=SHOP, evil__py="import os\n")
    resolve(scene, clone)


@liar("mixed-changes")
def squashes_everything_into_one(scene: Scene, clone: Path) -> None:
    named = re.findall(r"Supervisor-Change: (\w+)", "\n".join(scene.message(number) for number in range(3)))
    git(clone, "reset", "-q", "--soft", scene.workshop.base)
    said = "\n".join(f"Supervisor-Change: {change}" for change in [*named, scene.change])
    commit(clone, f"[FIX_IMPL] All of it\n\n{said}", app__py=BOTH, README__md="quarters\n")


@liar("altered-content")
def swaps_the_trailers_of_two_fixes(scene: Scene, clone: Path) -> None:
    git(clone, "reset", "-q", "--hard", scene.machine[0])
    commit(clone, scene.message(2), app__py=HALVED)
    commit(clone, scene.message(1), shop__py=SHOP)
    resolve(scene, clone)


@liar("repeated-change")
def has_a_fix_twice(scene: Scene, clone: Path) -> None:
    commit(clone, scene.message(2), shop__py="")
    resolve(scene, clone)


@liar("not-on-base")
def stands_beside_the_base(scene: Scene, clone: Path) -> None:
    tree = git(clone, "rev-parse", "HEAD^{tree}")
    git(clone, "reset", "-q", "--hard", git(clone, "commit-tree", tree, "-m", scene.message(0)))


@liar("not-linear")
def merges(scene: Scene, clone: Path) -> None:
    tree = git(clone, "rev-parse", "HEAD^{tree}")
    merged = git(clone, "commit-tree", tree, "-p", "HEAD", "-p", scene.workshop.base, "-m", scene.message(0))
    git(clone, "reset", "-q", "--hard", merged)


# --- other names and words


@liar("rewritten-commit")
def signs_a_fix_with_another_name(scene: Scene, clone: Path) -> None:
    git(clone, "commit", "-q", "--amend", "--no-edit", "--author", "Linus <linus@example.org>")
    resolve(scene, clone)


@liar("rewritten-commit")
def gives_a_fix_other_words(scene: Scene, clone: Path) -> None:
    loud = scene.message(2).replace("Sum up", "Sum up, fixes #1, @ann [skip ci]")
    git(clone, "commit", "-q", "--amend", "--message", loud)
    resolve(scene, clone)


@liar("the integrator resolved the conflict")
def signs_a_resolution_with_another_name(scene: Scene, clone: Path) -> None:
    resolve(scene, clone)
    git(clone, "commit", "-q", "--amend", "--no-edit", "--author", "Linus <linus@example.org>")


@liar("the integrator resolved the conflict")
def calls_people_in_a_resolution(scene: Scene, clone: Path) -> None:
    resolve(scene, clone, subject="[FIX_IMPL] @ann fixes #1 [skip ci]\n\nSigned-off-by: Linus <linus@example.org>")


@liar("is in no conflict")
def says_that_what_is_merged_has_failed(scene: Scene, clone: Path) -> dict[str, Any]:
    resolve(scene, clone)
    return {"failed": [{"job": "b.9", "change": "f" * 40, "reason": "it is mine"}], "ranking": ["0" * 40, 7, None]}


@pytest.mark.parametrize("name", LIARS)
async def test_nothing_of_it_is_on_the_branch_unsaid(scene: Scene, name: str) -> None:
    act, says = LIARS[name]
    workshop, head = scene.workshop, scene.machine[-1]
    (workshop.layout.integration("b", 1) / "result.json").unlink(missing_ok=True)
    workshop.integrated_freely(lambda clone: act(scene, clone))

    done = await workshop.integrate()

    doubts = [doubt for row in done.ledger.values() for doubt in row.doubts]
    assert any(says in said for said in (*done.problems, *doubts)), (done.problems, doubts)
    assert {fates(done)[job] for job in (1, 2, 3)} == {Fate.MERGED}
    log = git(workshop.bare, "log", "--reverse", "--format=%H", f"{workshop.base}..{done.head}").splitlines()
    assert log[: len(scene.machine)] == scene.machine
    if done.head == head:
        assert fates(done)[4] is Fate.CONFLICT
        assert any("the integrator" in problem for problem in done.problems)
        return
    assert changed(workshop, head, done) <= {"app.py", "README.md"}
    assert workshop.file(done.head, "README.md") == "quarters"
    assert fates(done)[4] is Fate.MERGED
    assert any("the integrator resolved the conflict in app.py" in doubt for doubt in done.ledger[4].doubts)
    who = git(workshop.bare, "log", "--format=%an %ae %cn %ce", f"{workshop.base}..{done.head}").splitlines()
    assert set(who) == {f"{NAME} {EMAIL} {NAME} {EMAIL}"}
    said = git(workshop.bare, "log", "-1", "--format=%B", done.head)
    assert said.startswith("[FIX_IMPL] Quarter\n")
    assert not re.search(r"@\w|#\d|skip ci|Signed-off", said)


def changed(workshop: Workshop, head: str, done: Integration) -> set[str]:
    return set(git(workshop.bare, "diff", "--name-only", head, done.head).splitlines())


async def test_an_honest_one_is_taken_at_its_order_and_its_resolution(scene: Scene) -> None:
    """So that what is refused above is refused for its lie."""
    workshop = scene.workshop
    (workshop.layout.integration("b", 1) / "result.json").unlink(missing_ok=True)

    def act(clone: Path) -> None:
        git(clone, "reset", "-q", "--hard", scene.machine[0])
        for number in (2, 1):
            git(clone, "cherry-pick", scene.machine[number])
        resolve(scene, clone)

    workshop.integrated_freely(act)
    done = await workshop.integrate()
    assert done.problems == ()
    assert workshop.subjects(done.head)[1:] == ["[FIX_IMPL] Sum up", "[FIX_IMPL] Halve", "[FIX_IMPL] Quarter"]
    assert set(fates(done).values()) == {Fate.MERGED}
    assert workshop.file(done.head, "app.py") == BOTH.strip()


def test_there_are_enough_of_them() -> None:
    assert len(LIARS) >= 25
