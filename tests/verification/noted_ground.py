"""A checkout, and runs in it of which it is noted what they open."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from supervisor.verification.tracing.traced import Trace, Traced
from supervisor.verification.trials.running import Ended, Means, run, tracing_lacks, walls_lack
from supervisor.verification.walls.walls import Walls
from tests.verification.test_trial_processes import skip_without

MEANS = ("namespace", "subreaper", "walls")
PYTHON = f"{sys.executable} -I -c"
FILES: Mapping[str, str] = {
    "tool.sh": "#!/bin/sh\n. ./lib/one.sh\n",
    "lib/one.sh": "name=one\n",
    "lib/two.sh": "name=two\n",
    "data.txt": "data\n",
    "v1/a.txt": "a\n",
    "tool.js": "const fs = require('fs'); fs.readFileSync('data.txt'); require('./lib/one')\n",
    "lib/one.js": "\n",
}
LINKS = {"link": "data.txt", "current": "v1", "dangling": "nowhere.txt", "round": "round"}


@dataclass
class Ground:
    """A checkout, and a folder beside it."""

    folder: Path

    @property
    def checkout(self) -> Path:
        return self.folder / "checkout"

    async def run(self, script: str, means: str = "namespace", timeout: float = 60) -> Ended:
        if lacks := await tracing_lacks():
            pytest.skip(f"nobody is told here what is opened: {lacks}")
        env, trace = {"PATH": os.environ["PATH"], "BESIDE": str(self.folder / "beside")}, Trace(self.checkout)
        argv = ["sh", "-c", script]
        if means != "walls":
            await skip_without(means)
            kept: Means = "subreaper" if means == "subreaper" else "namespace"
            return await run(argv, cwd=self.checkout, env=env, timeout=timeout, means=kept, trace=trace)
        if lacks := await walls_lack():
            pytest.skip(f"no walls can be built here: {lacks}")
        (self.folder / "tmp").mkdir()
        writable = (self.checkout, self.folder / "beside")
        readable = (Path(sys.prefix), Path(sys.base_prefix))
        walls = Walls(self.folder / "tmp", writable, readable, fresh=(self.folder / "tmp", *writable))
        return await run(argv, cwd=self.checkout, env=env, timeout=timeout, walls=walls, trace=trace)

    async def noted(self, script: str, means: str = "namespace") -> Traced:
        ended = await self.run(script, means)
        assert ended.code == 0, ended
        assert ended.traced is not None
        assert (ended.traced.lacks, ended.traced.unknown) == ("", "")
        return ended.traced


def laid(folder: Path) -> Ground:
    made = Ground(folder)
    (folder / "beside").mkdir()
    for name, text in FILES.items():
        place = made.checkout / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o755)
    for name, target in LINKS.items():
        (made.checkout / name).symlink_to(target)
    return made


def said_by(code: str, folder: Path) -> str:
    said = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said
    return said.stdout
