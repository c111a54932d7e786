"""Packs the verifier's program into one file: its keeper, its walls and its checkout layout are the daemon's own."""

import io
import zipfile
from functools import cache
from importlib.resources import files
from pathlib import Path

PROGRAM = "verifier.pyz"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_MODULES = (
    "paths",
    "verification/evidence/laying",
    "verification/evidence/lies",
    "verification/remote/there/answering",
    "verification/remote/there/fencing",
    "verification/remote/there/keeping",
    "verification/remote/there/readying",
    "verification/trials/ending",
    "verification/trials/keeper",
    "verification/trials/speaking",
    "verification/trials/tidying",
    "verification/walls/enclosing",
    "verification/walls/toolchain",
    "verification/walls/walls",
    "verification/walls/watching",
)
_MAIN = "from supervisor.verification.remote.there.answering import main\n\nmain()\n"


@cache
def packed() -> bytes:
    root = files("supervisor")
    members = {"__main__.py": _MAIN.encode()}
    for module in _MODULES:
        *folders, name = module.split("/")
        for depth in range(len(folders) + 1):
            members["/".join(["supervisor", *folders[:depth], "__init__.py"])] = b""
        members[f"supervisor/{module}.py"] = root.joinpath(*folders, f"{name}.py").read_bytes()
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def write_program(folder: Path) -> Path:
    """Blocking."""
    place = folder / PROGRAM
    if not place.exists() or place.read_bytes() != packed():
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f".{PROGRAM}"
        fresh.write_bytes(packed())
        fresh.replace(place)
    return place
