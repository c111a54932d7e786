"""Integrators that leave out, alter or rename what the machine has merged."""

import re
from pathlib import Path
from typing import Any

from tests.agent_clone import commit, git
from tests.integration.lies import BOTH, NOTE, SHOP, Scene, liar, resolve
from tests.integration.workshop import HALVED

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


@liar("the integrator gave it up: ugly")
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


@liar("is not in conflict")
def says_that_what_is_merged_has_failed(scene: Scene, clone: Path) -> dict[str, Any]:
    resolve(scene, clone)
    return {"failed": [{"job": "b.9", "change": "f" * 40, "reason": "it is mine"}], "ranking": ["0" * 40, 7, None]}
