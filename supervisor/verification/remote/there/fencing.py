"""The walls around a run on this host; the counterpart of `walls/sandbox` on the daemon's machine."""

import os
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from supervisor.verification.remote.there import keeping
from supervisor.verification.walls.toolchain import tools
from supervisor.verification.walls.walls import Limits, Walls, give, own_places

DETECTION_SECONDS = 20.0


def walls_lack() -> str:
    """Why walls can't be built here, found out by a try; "" if they can."""
    env = {"PATH": os.environ.get("PATH", os.defpath)}
    with tempfile.TemporaryDirectory() as folder:
        walls = Walls(Path(folder), fresh=(Path(folder),))
        give(Path(folder))
        done = keeping.run(["true"], "/", env, DETECTION_SECONDS, "walls", plan=walls.plan(Path("/")))
    return done.unbuilt or ("" if done.code == 0 else done.tail or "a program in them does not run")


def plan(
    asked: dict[str, Any],
    standing: Path,
    places: Collection[Path],
    *,
    fresh: Collection[Path],
    checkout: Path,
    objects: Path,
    network: bool,
) -> dict[str, Any]:
    """`standing`: the folder that is mounted at /tmp. `places` are writable; the `fresh` ones were made for this."""
    private = own_places(checkout.parents[4])
    named = tuple(map(Path, asked["named"]))
    found = tools(os.environ.get("PATH", os.defpath), asked["programs"], named, private, Path("/nonexistent"))
    walls = Walls(
        standing,
        (*map(Path, asked["write"]), *places),
        (*sorted(found), *map(Path, asked["read"]), objects),
        private,
        fresh=(standing, *fresh),
        network=network,
        limits=Limits(asked["memory"], asked["processes"], asked["disk"]),
    )
    for each in walls.fresh:
        give(each)
    return walls.plan(checkout)
