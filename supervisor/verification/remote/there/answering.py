"""Answers one question of the daemon's: prepares a tree once, and makes some runs in fresh copies of it.

    python3 -I verifier.pyz QUESTION

The question is a file that is removed when it has been read. It names the commit, says what to lay into the checkout,
how to set it up, and what to run with which environment. The answer is printed: JSON, compressed, as one line. Each
question is complete, so a verifier that knows nothing of a trial prepares it again.
"""

import base64
import json
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

from supervisor.verification.evidence.lies import Lie, Telling, tell
from supervisor.verification.remote.there import fencing, keeping, readying
from supervisor.verification.trials.tidying import head_of, remove_bytecode, stamp_of
from supervisor.verification.walls.walls import give

MAX_NOTES = 8 * 2**20
#: the files of a run with probes that are sent back
NOTES = ("seen", "asked", "untold")


def main() -> None:
    file = Path(sys.argv[1])
    question = json.loads(zlib.decompress(base64.b64decode(file.read_bytes())))
    file.unlink()
    answer = {"nonce": question["nonce"], **_answer(question)}
    said = json.dumps(answer).encode()
    sys.stdout.write(base64.b64encode(zlib.compress(said, 6)).decode() + "\n")


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    root = Path(os.path.realpath(os.environ["MNGR_AGENT_STATE_DIR"])) / "trials"
    if "passed_on" in question:
        return _hello(root, question["passed_on"])
    for each in question["done"]:
        readying.discard(root / each)
    try:
        trial = _Trial(question, root)
        return trial.answer()
    except readying.NotThere:
        return {"is_missing": True}
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        return {"trouble": str(error)[:500]}


def _hello(root: Path, passed_on: list[str]) -> dict[str, Any]:
    return {
        "root": str(root),
        "env": {name: os.environ[name] for name in passed_on if name in os.environ},
        "lacks": fencing.walls_lack(),
        "means": keeping.means_here(),
    }


class _Trial:
    def __init__(self, question: dict[str, Any], root: Path) -> None:
        self._question, self._root = question, root
        self._trial, self._sandbox = question["trial"], question["sandbox"]
        self._folder = root / self._trial["id"]
        self._prepared = self._folder / "prepared"
        self._home = self._folder / self._trial["home"]
        self._checkout = self._home / self._trial["checkout"]
        self._clone = Path(os.environ["MNGR_AGENT_WORK_DIR"])
        self._means = "walls" if self._sandbox["is_on"] else question["means"]

    def answer(self) -> dict[str, Any]:
        unready = None
        if not self._prepared.exists():
            readying.discard(self._folder)
            unready = self._prepare()
        if unready is not None:
            readying.discard(self._folder)
            return {"unready": unready}
        told: dict[str, Any] = {"tree": (self._folder / "tree").read_text()}
        place = self._prepared / self._trial["checkout"]
        told["heads"] = {each: _text(head_of(place / each)) for each in self._question["heads"]}
        told["prepared"] = stamp_of(self._prepared)
        told["runs"] = [self._run(each) for each in self._question["runs"]]
        told["stamp"] = stamp_of(self._prepared)
        return told

    # --- once

    def _prepare(self) -> dict[str, Any] | None:
        """How its setup failed; None if it did not."""
        readying.receive(self._clone, self._question["pack"], self._question["sha"])
        tree = readying.check_out(self._clone, self._question["sha"], self._checkout)
        remove_bytecode(self._checkout, self._trial["bytecode"])
        readying.lay(self._checkout, self._trial["laid"])
        readying.lay(self._home, self._trial["files"])
        self._give(self._home)
        if (setup := self._trial["setup"]) is not None:
            done = self._stage(setup, setup["command"], (), network=self._sandbox["setup_network"])
            if done.code != 0 or done.unbuilt:
                return _ended(done)
        remove_bytecode(self._checkout, self._trial["bytecode"])
        (self._folder / "tree").write_text(tree)
        self._home.rename(self._prepared)
        return None

    # --- each run

    def _run(self, asked: dict[str, Any]) -> dict[str, Any]:
        folder = self._folder / asked["folder"]
        folder.mkdir()
        try:
            subprocess.run(["cp", "-a", "--reflink=auto", "--", self._prepared, self._home], check=True)
            if asked["plugins"]:
                readying.lay(folder / "plugins", asked["plugins"])
            readying.lay(self._checkout, asked["files"])
            if (liar := asked["liar"]) is not None:
                tell(self._checkout, Telling(liar["program"], liar["how"], Lie("", liar["body"])))
            if asked["files"] or liar is not None:
                self._give(self._home)
            listener = keeping.Listener(asked["socket"], asked["nonce"])
            began = time.monotonic()
            network = self._sandbox["network"]
            done = self._stage(asked, asked["command"], (folder,), network=network, listener=listener)
            seconds = time.monotonic() - began
            notes = {name: _note(folder / "plugins" / name) for name in NOTES}
            return {**_ended(done), "seconds": seconds, "heard": vars(done.heard), "notes": notes}
        finally:
            readying.discard(self._home)
            readying.discard(folder)

    def _stage(
        self,
        asked: dict[str, Any],
        command: str,
        fresh: tuple[Path, ...],
        *,
        network: bool,
        listener: keeping.Listener | None = None,
    ) -> keeping.Kept:
        temporary, standing = Path(asked["temporary"]), self._folder / f"tmp-{asked['folder']}"
        temporary.mkdir(mode=0o700)
        standing.mkdir()
        standing.chmod(0o1777)
        plan = None
        try:
            if self._sandbox["is_on"]:
                mine = (*fresh, temporary)
                plan = fencing.plan(
                    self._sandbox,
                    standing,
                    (self._home, *mine),
                    fresh=mine,
                    checkout=self._checkout,
                    objects=readying.objects_of(self._clone),
                    network=network,
                )
            argv, where = ["sh", "-c", command], str(self._checkout)
            return keeping.run(argv, where, asked["env"], asked["limit"], self._means, plan=plan, listener=listener)
        finally:
            readying.discard(temporary)
            readying.discard(standing)

    def _give(self, place: Path) -> None:
        if self._sandbox["is_on"]:
            give(place)


def _ended(done: keeping.Kept) -> dict[str, Any]:
    names = ("code", "tail", "is_lost", "met", "unbuilt")
    return {name: getattr(done, name) for name in names}


def _note(file: Path) -> str:
    """The notes of a probe; links are not followed. One byte over the limit is kept to show that there was more."""
    if file.is_symlink() or not file.is_file():
        return ""
    with file.open("rb") as opened:
        return _text(opened.read(MAX_NOTES + 1))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
