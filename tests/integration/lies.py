"""Integrators that lie, each a program that works on the machine's branch as an agent would."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.agent_clone import commit, git
from tests.integration.workshop import APP, DOUBLE, HALF, HALVED, QUARTERED, SANE, TESTS, Workshop, trailers

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


async def a_scene(folder: Path) -> Scene:
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
