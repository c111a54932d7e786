#!/usr/bin/env python3
"""The rehearsal's writer: fills seeds and writes tests without a model, for the rehearsal target.

It is a single file for any host and needs only Python 3.9, git and `writing.json`. That file scripts its work on each
seed, each block (identified by its last command) and each stale citation (identified by its test). It leaves anything
else alone and says so.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shlex
import sys
import time
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, run
from typing import Any

PR_SET_NAME = 15

Json = dict[str, Any]


def knowledge_file() -> Path:
    """Beside this program when both were uploaded, else where the package has it."""
    here = Path(__file__).resolve().parent
    beside = here / "writing.json"
    return beside if beside.exists() else here.parent / "rehearsal" / "writing.json"


def take_expected_name(state: Path) -> None:
    """Take the process name that mngr looks for: the first word of the agent's command."""
    try:
        command = json.loads((state / "data.json").read_text())["command"]
        ctypes.CDLL(None).prctl(PR_SET_NAME, Path(shlex.split(command)[0]).name.encode()[:15], 0, 0, 0)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return  # not under mngr, or not on Linux: nobody looks for a name


def shell(command: str) -> tuple[int, str]:
    done = run(["sh", "-c", command], stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout.strip()


def git(*args: str) -> None:
    run(["git", *args], check=True, capture_output=True)


def replace_once(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert text.count(old) == 1, f"not once in {path}: {old}"
    Path(path).write_text(text.replace(old, new))


class Writer:
    def __init__(self, knowledge: Json) -> None:
        self.task: Json = json.loads(Path(os.environ["SUPERVISOR_PROMPT"]).with_name("task.json").read_text())
        self.known: Json = getattr(self, f"find_{self.task['kind']}")(knowledge)

    def find_seed(self, knowledge: Json) -> Json:
        return dict(knowledge["seeds"].get(self.task["text"], {}))

    def find_block(self, knowledge: Json) -> Json:
        return dict(knowledge["blocks"].get(self.task["text"].splitlines()[-1], {}))

    def find_stale(self, knowledge: Json) -> Json:
        return dict(knowledge["stale"].get(self.task["test"], {}))

    def work(self) -> Json:
        """Do the scripted work and return the outcome."""
        if "subject" not in self.known:
            return self.left_alone()
        kind, paths, proof = getattr(self, f"write_{self.task['kind']}")()
        passes = self.passes(proof)
        git("add", "--", *paths)
        git("commit", "--quiet", "--message", f"[{kind}] {self.known['subject']}", "--", *paths)
        status = "SUCCEEDED" if passes else "FAILED"
        changes = {kind: {"status": status, "summary_markdown": self.known["subject"]}}
        return self.outcome(changes, passes, self.known["summary"])

    def left_alone(self) -> Json:
        words = self.known.get("summary", "This is nothing that the rehearsal knows how to write.")
        return {**self.outcome({}, True, words), "blocked": words}

    def outcome(self, changes: Json, passes: bool, summary: str) -> Json:
        return {
            "schema_version": 1,
            "changes": changes,
            "errored": False,
            "blocked": None,
            "tests_passing_before": True,
            "tests_passing_after": passes,
            "summary_markdown": summary,
            "confusions": self.known.get("confusions", []),
            "escalations": [],
        }

    def write_seed(self) -> tuple[str, list[str], str]:
        tutorial, seed = self.task["tutorial"], self.task["text"]
        replace_once(tutorial, seed, "\n".join([seed, *self.known["commands"]]))
        return "FIX_TUTORIAL", [tutorial], ""

    def write_block(self) -> tuple[str, list[str], str]:
        path = f"{self.task['tests']}/{self.known['path']}"
        quoted = "\n".join(f"        {line}" for line in self.task["text"].splitlines())
        Path(path).write_text("\n".join([*self.known["lines"], ""]).replace("{block}", quoted))
        return "IMPROVE_TEST", [path], f"{os.environ['SUPERVISOR_RUN']} {shlex.quote(path)}"

    def write_stale(self) -> tuple[str, list[str], str]:
        for edit in self.known["edits"]:
            replace_once(edit["path"], "\n".join([*edit["find"], ""]), "\n".join([*edit["replace"], ""]))
        return "FIX_TUTORIAL", sorted({edit["path"] for edit in self.known["edits"]}), os.environ["SUPERVISOR_RUN"]

    def passes(self, proof: str) -> bool:
        code, said = shell(proof)
        say(f"{'passed' if code == 0 else 'failed'}: {(said.splitlines() or ['(no output)'])[-1]}")
        return code == 0


def say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="rehearsal-writer", description="A writer without a model.")
    parser.add_argument("--knowledge", type=Path, default=knowledge_file(), help="the script of its work")
    options, _ = parser.parse_known_args()  # the rest is for testers
    outcome_file = Path(os.environ["SUPERVISOR_OUTCOME"])
    state = Path(os.environ.get("MNGR_AGENT_STATE_DIR") or outcome_file.parent)
    take_expected_name(state)
    (state / "active").touch()
    try:
        writer = Writer(json.loads(options.knowledge.read_text()))
        say(f"on {writer.task['item']}")
        outcome_file.parent.mkdir(parents=True, exist_ok=True)
        outcome_file.write_text(json.dumps(writer.work(), indent=1) + "\n")
        code, said = shell(os.environ["SUPERVISOR_PUBLISH"])
        say(f"{'published' if code == 0 else 'publishing was refused'}. {said}")
        return code
    finally:
        (state / "active").unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
