"""Cherry-picks writers' commits onto the user's current branch, in the user's own checkout and name."""

import base64
import binascii
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from supervisor.errors import Refused

GIT_SECONDS = 120.0


def take(folder: Path, proposals: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Pick each proposal entirely or not at all, and say why one was left. Requires a clean tree."""
    root = Path(_said(folder, "rev-parse", "--show-toplevel"))
    if dirty := _said(root, "status", "--porcelain"):
        path = dirty.splitlines()[0][3:]
        raise Refused(f"{root} has uncommitted work: {path}", hint="commit or stash it first: nothing was taken")
    before = _said(root, "rev-parse", "HEAD")
    taken, left = [], []
    for proposal in proposals:
        why = _taken(root, proposal)
        if why:
            left.append({"job": proposal["job"], "why": why})
        else:
            taken.append(proposal["job"])
    return {"taken": taken, "left": left, "changed": _said(root, "rev-parse", "HEAD") != before}


def _taken(root: Path, proposal: dict[str, Any]) -> str:
    """Pick one proposal. Returns why it was left; "" if it was taken."""
    if _git(root, "cat-file", "-e", f"{proposal['base']}^{{commit}}").returncode:
        return f"its base commit, {proposal['base'][:12]}, is not in {root}"
    with tempfile.NamedTemporaryFile(suffix=".bundle") as file:
        try:
            file.write(base64.b64decode(proposal["bundle"], validate=True))
        except binascii.Error:
            return "its commits can't be read"
        file.flush()
        unpacked = _git(root, "bundle", "unbundle", file.name)
    if unpacked.returncode:
        return f"its commits can't be read: {_last(unpacked)}"
    commits = _said(root, "rev-list", "--reverse", f"{proposal['base']}..{proposal['head']}").split()
    done = _git(root, "cherry-pick", *commits)
    for _ in commits:
        if done.returncode and not _said(root, "status", "--porcelain"):
            done = _git(root, "cherry-pick", "--skip")  # the branch already has its change
    if not done.returncode:
        return ""
    colliding = _said(root, "diff", "--name-only", "--diff-filter=U").splitlines()
    _git(root, "cherry-pick", "--abort")
    return (
        f"it conflicts in {colliding[0]}: run sync again" if colliding else f"git cherry-pick failed: {_last(done)}"
    )


def _said(root: Path, *words: str) -> str:
    done = _git(root, *words)
    if done.returncode:
        raise Refused(f"git {words[0]} failed in {root}: {_last(done)}", hint="check that it is a git checkout")
    return done.stdout.strip()


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *words],
        cwd=root,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},  # `git status` must not write, not even to the index
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=GIT_SECONDS,
        check=False,
    )


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200]
