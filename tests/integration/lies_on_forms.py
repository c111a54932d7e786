"""Integrators whose commits are not what git would write: other encodings, bytes that are no text, other modes."""

import subprocess
from pathlib import Path

from tests.agent_clone import commit, git
from tests.integration.lies import BOTH, Scene, liar, resolve


def rewritten(clone: Path, old: bytes, new: bytes) -> None:
    """The last commit, with other bytes in it."""
    raw = subprocess.run(["git", "cat-file", "commit", "HEAD"], cwd=clone, capture_output=True, check=True).stdout
    assert old in raw
    words = ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"]
    made = subprocess.run(words, cwd=clone, input=raw.replace(old, new, 1), capture_output=True, check=True).stdout
    git(clone, "reset", "-q", "--hard", made.decode().strip())


@liar("the integrator resolved the conflict")
def says_a_fix_in_an_encoding_that_nobody_knows(scene: Scene, clone: Path) -> None:
    rewritten(clone, b"\n\n", b"\nencoding nobody-knows-it\n\n")
    resolve(scene, clone)


@liar("rewritten-commit")
def says_a_fix_in_bytes_that_are_no_text(scene: Scene, clone: Path) -> None:
    rewritten(clone, b"Sum up", b"Sum \xff\xfeup")
    resolve(scene, clone)


@liar("rewritten-commit")
def signs_a_fix_with_bytes_that_are_no_text(scene: Scene, clone: Path) -> None:
    rewritten(clone, b"author agent-supervisor", b"author agent-\xff\xfesupervisor")
    resolve(scene, clone)


@liar("the integrator resolved the conflict")
def says_and_signs_a_resolution_in_bytes_that_are_no_text(scene: Scene, clone: Path) -> None:
    resolve(scene, clone)
    rewritten(clone, b"author t", b"author \xff\xfe")
    rewritten(clone, b"\n\n[FIX_IMPL] Quarter", b"\nencoding utf-7\n\n[FIX_IMPL] \xffQuarter")


@liar("altered-content")
def makes_a_program_of_a_file_that_was_fixed(scene: Scene, clone: Path) -> None:
    (clone / "shop.py").chmod(0o755)
    git(clone, "commit", "-qa", "--amend", "--no-edit")
    resolve(scene, clone)


@liar("the file is changed outside of the conflict, too")
def ends_all_lines_otherwise(scene: Scene, clone: Path) -> None:
    resolve(scene, clone)
    (clone / "app.py").write_bytes(BOTH.replace("\n", "\r\n").encode())
    git(clone, "commit", "-qa", "--amend", "--no-edit")


@liar("of its own")
def hides_a_line_from_who_reads_it(scene: Scene, clone: Path) -> None:
    hidden = BOTH.replace("    return x // 2 or", "    import os  # \u202e\r    return x // 2 or")
    commit(clone, "[FIX_IMPL] Quarter" + scene.trailers, app__py=hidden, README__md="quarters\n")
