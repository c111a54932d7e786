"""The files of the pages, each under a name with the hash of its content: a browser keeps it for good."""

import hashlib
from functools import cache
from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import Response

from supervisor.errors import NoSuchThing

KEPT = "public, max-age=31536000, immutable"
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
#: of recordings, as the page of a run of tests has it
PLAYER = ("player.js", "player.css")
_HASH_LETTERS = 16

routes = APIRouter()


@routes.get("/assets/{name}")
async def asset(name: str) -> Response:
    found = _all().get(name)
    if found is None:
        raise NoSuchThing(f"there is no file {name[:80]}", hint="load the page again")
    content, kind = found
    return Response(content, media_type=kind, headers={"Cache-Control": KEPT})


def address(path: str) -> str:
    """The address of a file below `assets`, such as `vendor/htmx.min.js`."""
    return f"/assets/{_named()[path]}"


@cache
def _all() -> dict[str, tuple[bytes, str]]:
    return {_name(path, content): (content, TYPES[path.rpartition(".")[2]]) for path, content in _read().items()}


@cache
def _named() -> dict[str, str]:
    return {path: _name(path, content) for path, content in _read().items()}


def _name(path: str, content: bytes) -> str:
    stem, _, ending = path.rpartition("/")[2].rpartition(".")
    return f"{stem}.{hashlib.sha256(content).hexdigest()[:_HASH_LETTERS]}.{ending}"


@cache
def _read() -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for folder in ("", "vendor/"):
        for file in (files("supervisor.dashboard") / "assets" / folder).iterdir():
            if file.name.rpartition(".")[2] in TYPES:
                found[folder + file.name] = file.read_bytes()
    player = files("supervisor.e2e.view") / "assets"
    return found | {name: (player / name).read_bytes() for name in PLAYER}
