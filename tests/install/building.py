"""Wheels, built from the source package as an index has it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.shape.sources import ROOT

BIN = Path(sys.executable).parent
PARTS = {"": ROOT, "e2e": ROOT / "supervisor" / "e2e"}


def run(*words: str | Path, cwd: Path = ROOT, env: Mapping[str, str] = os.environ, code: int = 0) -> str:
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def built(part: str, into: Path) -> Path:
    source = into / "source"
    shutil.copytree(PARTS[part], source, ignore=shutil.ignore_patterns(".*", "__pycache__", "site"))
    run(BIN / "uv", "build", "--quiet", "--no-build-isolation", "--python", sys.executable, "-o", into, source)
    (wheel,) = into.glob("*.whl")
    return wheel
