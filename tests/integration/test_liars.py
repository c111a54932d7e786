"""Integrators that lie, each in its own way: nothing of it is on the branch unsaid, what was verified is there.

What they made is judged by git: the branch that lands is the machine's, or differs from it in what was in conflict,
by the machine's own commit.
"""

import asyncio
import re
from pathlib import Path

import pytest

from supervisor.adapters.git.merging import EMAIL, NAME
from supervisor.model.ledger import Fate
from supervisor.ports import Integration
from tests.agent_clone import git
from tests.integration import lies_on_fixes, lies_on_forms
from tests.integration.lies import BOTH, LIARS, Scene, a_scene, resolve
from tests.integration.workshop import Workshop, fates


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return asyncio.run(a_scene(tmp_path_factory.mktemp("liars")))


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
    assert (
        len(
            [
                name
                for name, (act, _) in LIARS.items()
                if act.__module__ in (lies_on_fixes.__name__, lies_on_forms.__name__)
            ]
        )
        > 10
    )
    assert len(LIARS) > 40
