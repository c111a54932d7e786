"""Prepares a checkout on this host, once for all runs of a trial: objects, checkout, files."""

import base64
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from supervisor.verification.evidence.laying import Content, put

GIT_SECONDS = 600
#: no configuration of the host's, no hooks, no prompts
_QUIET = {
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": "3",
    "GIT_CONFIG_KEY_0": "core.hooksPath",
    "GIT_CONFIG_VALUE_0": "/dev/null",
    "GIT_CONFIG_KEY_1": "core.fsmonitor",
    "GIT_CONFIG_VALUE_1": "false",
    "GIT_CONFIG_KEY_2": "safe.directory",
    "GIT_CONFIG_VALUE_2": "*",
}


class NotThere(Exception):
    """The commit has not been sent yet."""


def git(where: Path, *words: str, stdin: bytes = b"") -> str:
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.environ.get("HOME", "/"), **_QUIET}
    done = subprocess.run(
        ["git", *words], cwd=where, env=env, input=stdin, capture_output=True, check=False, timeout=GIT_SECONDS
    )
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"git {words[0]}: {' '.join(last)}")
    return done.stdout.decode(errors="replace").strip()


def objects_of(clone: Path) -> Path:
    return Path(os.path.abspath(clone / git(clone, "rev-parse", "--git-common-dir"))) / "objects"  # noqa: PTH100


def receive(clone: Path, pack: str, sha: str) -> None:
    """The pack has only what the clone lacks. Raises NotThere."""
    if pack:
        git(clone, "index-pack", "--stdin", "--fix-thin", stdin=base64.b64decode(pack))
    try:
        git(clone, "cat-file", "-e", f"{sha}^{{commit}}")
    except RuntimeError as error:
        raise NotThere(sha) from error


def check_out(clone: Path, sha: str, into: Path) -> str:
    """One branch, no remote, no hook, objects borrowed from the clone. Returns its tree."""
    into.mkdir(parents=True)
    git(into, "init", "-q", "--template=", "-b", "base", ".")
    alternates = into / ".git" / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{objects_of(clone)}\n")
    with (into / ".git" / "config").open("a") as config:
        config.write("[gc]\n\tauto = 0\n")
    git(into, "reset", "-q", "--hard", sha)
    return git(into, "write-tree")


def contents(said: Mapping[str, Any]) -> dict[str, Content | None]:
    return {
        path: None if found is None else Content(base64.b64decode(found["data"]), found["kind"])
        for path, found in said.items()
    }


def lay(folder: Path, files: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    put(folder, contents(files))


def discard(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    if place.is_dir():
        for folder, _, _ in os.walk(place):
            try:
                os.chmod(folder, 0o700)  # noqa: PTH101
            except OSError:
                continue
        shutil.rmtree(place, ignore_errors=True)
