"""The publish tool says what policy will say, so that an honest agent mends it; and holds up nobody else."""

import ast
import io
import subprocess
import sys
import zipfile
from pathlib import Path

from supervisor.model.profile import Profile
from supervisor.verification.inspecting import MODULES, packed, write_advice
from tests.agent_clone import AgentClone
from tests.publication.test_publish import one_sentence

OLD = "def test_one():\n    assert 1 + one() == 2\n"
SKIPPED = "import pytest\n\n\n@pytest.mark.skip\ndef test_one():\n    assert 1 + one() == 2\n"
WEAKER = "def test_one():\n    assert one()\n"


def clone(home: Path, profile: Profile | None = None) -> AgentClone:
    """With a test at the base, and the rules beside the publish tool."""
    made = AgentClone.make(home)
    made.base = made.commit("base", test_one__py=OLD)
    made.env = {"SUPERVISOR_BASE": made.base}
    write_advice(
        profile or Profile(), "test_one.py::test_one", made.folder / "policy.pyz", made.folder / "policy.json"
    )
    return made


def test_what_will_be_refused_is_said_once_and_published_when_it_is_insisted_on(tmp_path: Path) -> None:
    made = clone(tmp_path)
    made.commit("[FIX_TEST] Skip", test_one__py=SKIPPED)
    said = one_sentence(made.publish().stderr)
    assert "this work will be refused: skip: adds a `skip` to test_one.py; fix it" in said
    assert not (made.folder / "published.tar").exists()
    insisted = made.publish()
    assert insisted.returncode == 0
    assert "published as it is" in insisted.stderr
    assert made.meta()["notes"] == ["it is published as it is, and will be refused."]


def test_what_was_mended_is_published(tmp_path: Path) -> None:
    made = clone(tmp_path)
    made.commit("[FIX_TEST] Skip", test_one__py=SKIPPED)
    assert made.publish().returncode == 1
    made.commit("[FIX_TEST] Check", test_one__py=OLD.replace("== 2", "== 2, 'it is two'"))
    assert (made.publish().returncode, made.meta()["notes"]) == (0, [])


def test_what_a_reviewer_will_be_told_is_said_and_holds_up_nothing(tmp_path: Path) -> None:
    made = clone(tmp_path)
    made.commit("[FIX_TEST] Less", test_one__py=WEAKER)
    done = made.publish()
    assert done.returncode == 0
    assert "a reviewer will be told: test_one.py::test_one: checks `one()` instead of" in done.stderr


def test_a_profile_says_what_may_be_edited(tmp_path: Path) -> None:
    made = clone(tmp_path, Profile(allow_paths=("test_*.py", "Makefile")))
    made.commit("[FIX_TEST] Make", Makefile="all:\n")
    assert made.publish().returncode == 0
    made.commit("[FIX_TEST] Code", app__py="two\n")
    assert "path: edits app.py, which is outside the allowed paths" in made.publish().stderr


def test_rules_that_cannot_run_hold_up_nothing(tmp_path: Path) -> None:
    made = clone(tmp_path)
    made.commit("[FIX_TEST] Skip", test_one__py=SKIPPED)
    (made.folder / "policy.pyz").write_bytes(b"no archive")
    assert (made.publish().returncode, made.meta()["notes"]) == (0, [])


def test_the_rules_need_nothing_that_is_not_packed_with_them(tmp_path: Path) -> None:
    """Whatever they import of ours is in the archive."""
    archive = tmp_path / "policy.pyz"
    archive.write_bytes(packed())
    modules = ", ".join(f"supervisor.verification.rules.{name}" for name in MODULES)
    program = f"import sys; sys.path.insert(0, {str(archive)!r}); import {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "supervisor.model" not in done.stdout


def test_the_rules_can_be_read_by_every_python_that_is_asked_to() -> None:
    with zipfile.ZipFile(io.BytesIO(packed())) as archive:
        for name in archive.namelist():
            ast.parse(archive.read(name), name, feature_version=(3, 11))
