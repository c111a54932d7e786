#!/usr/bin/env python3
"""The rehearsal agent: follows the agent contract without a model, on the seeded defects of the rehearsal target.

It is a single file for any host and needs only Python 3.9, git and `defects.json`, which scripts its work on each
test: the behaviour of each attempt (publish, forget, silent, hang, crash, dirty-crash), its edits and its claims.
Only the test results that it reports are real. A test that the file does not name is clean. `--scenario` forces a
behaviour on any test of any repository, for batches that measure the supervisor.

mngr considers an agent alive while a process has the name of the first word of its command, and working while the
file `active` is in its state folder.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import shlex
import signal
import sys
import time
import uuid
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, CompletedProcess, run
from typing import Any, NoReturn

PR_SET_NAME = 15
ENDLESS = ["silent", "hang", "crash"]  # behaviours without an outcome: the names of methods of Agent
SCENARIOS = ["clean", "improve", "forget", "dirty-crash", "killed", "refused", *ENDLESS]
SYNTHETIC = "<synthetic>"  # the model of what a program writes itself, in place of an answer

Json = dict[str, Any]


def defects_file() -> Path:
    """Beside this program when both were uploaded, else where the package has it."""
    here = Path(__file__).resolve().parent
    beside = here / "defects.json"
    return beside if beside.exists() else here.parent / "rehearsal" / "defects.json"


def take_expected_name(state: Path) -> None:
    """Take the process name that mngr looks for: the first word of the agent's command."""
    try:
        command = json.loads((state / "data.json").read_text())["command"]
        ctypes.CDLL(None).prctl(PR_SET_NAME, Path(shlex.split(command)[0]).name.encode()[:15], 0, 0, 0)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return  # not under mngr, or not on Linux: nobody looks for a name


class Log:
    """The agent's output: on the pane, and as ATIF steps in the form of mngr's claude plugin."""

    def __init__(self, state: Path, tokens: int) -> None:
        self._file = state / "events" / "rehearsal" / "events.jsonl"
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._tokens = tokens

    def step(self, message: str, model: str = "rehearsal") -> None:
        now, tokens = time.time(), 0 if model == SYNTHETIC else self._tokens
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
        event = {
            "type": "step",
            "timestamp": stamp,
            "event_id": uuid.uuid4().hex,
            "emitter": "rehearsal",
            "source": "agent",
            "message": message,
            "model_name": model,
            "metrics": {"prompt_tokens": tokens, "completion_tokens": tokens // 10, "cached_tokens": 0},
            "extra": {"message_id": uuid.uuid4().hex},
        }
        with self._file.open("a") as file:
            file.write(json.dumps(event) + "\n")
        sys.stdout.write(f"{stamp[11:19]} {message}\n")
        sys.stdout.flush()


def shell(command: str) -> CompletedProcess[str]:
    return run(["sh", "-c", command], stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True, errors="replace")


def git(*args: str) -> str:
    return run(["git", *args], check=True, capture_output=True, text=True).stdout.strip()


def applies(edits: list[Json]) -> bool:
    """Whether each edit's text is in its file exactly once. If not, the edit has already been made."""
    return all(
        Path(edit["path"]).exists() and Path(edit["path"]).read_text().count("\n".join(edit["find"])) == 1
        for edit in edits
    )


def apply(edits: list[Json]) -> None:
    for edit in edits:
        path = Path(edit["path"])
        path.write_text(path.read_text().replace("\n".join(edit["find"]), "\n".join(edit["replace"])))


def commit(subject: str, edits: list[Json], *trailers: str) -> None:
    message = "\n".join([subject, "", *trailers])
    paths = sorted({edit["path"] for edit in edits})
    git("add", "--", *paths)
    git("commit", "--quiet", "--message", message, "--", *paths)


def claims(changes: list[Json], passing: bool) -> Json:
    """The outcome's claims about each change. A change without edits counts as failed."""
    return {
        change["kind"]: {
            "status": "SUCCEEDED" if passing and change["edits"] else "FAILED",
            "summary_markdown": change["subject"],
        }
        for change in changes
    }


def sharpened(test: str) -> Json:
    """The change of `--scenario improve` to a test, or to the first one of a class or file: a comment."""
    path, _, inside = test.partition("::")
    name, source = re.sub(r"\[.*", "", inside).split("::")[-1], Path(path).read_text()
    tries = (name, source), (r"test\w*", source.partition(f"class {name}")[2] or source)
    found = next(m for each, text in tries for m in re.finditer(rf"^( *)(?:async )?def ({each})\(.*$", text, re.M))
    said = f"{found[1]}    # the promise: {found[2].replace('_', ' ')}"
    edit = {"path": path, "find": [found[0]], "replace": [found[0], said]}
    return {"kind": "IMPROVE_TEST", "subject": f"Say what {found[2]} promises", "edits": [edit]}


class Agent:
    """One attempt, with the contract in its environment."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.test = os.environ.get("SUPERVISOR_TEST", "")
        self.command = os.environ.get("SUPERVISOR_RUN", "")
        self.attempt = int(os.environ.get("SUPERVISOR_ATTEMPT", "1"))
        self.outcome_file = Path(os.environ["SUPERVISOR_OUTCOME"])
        self.state = Path(os.environ.get("MNGR_AGENT_STATE_DIR") or self.outcome_file.parent)
        self.log = Log(self.state, options.tokens)
        self.options = options
        self.defects: Json = json.loads(options.defects.read_text())
        self.runs: list[Json] = []

    def working(self, yes: bool) -> None:
        """Tell mngr whether the agent is RUNNING or WAITING."""
        active = self.state / "active"
        active.touch() if yes else active.unlink(missing_ok=True)

    def run_test(self, name: str) -> bool:
        """Run the test for real, with the supervisor's command."""
        done = shell(self.command)
        passed = done.returncode == 0
        last = (done.stdout.strip().splitlines() or ["(no output)"])[-1]
        self.log.step(f"{name}: {'passed' if passed else 'failed'}: {last}")
        self.runs.append({"run_name": name, "description_markdown": f"`{self.command}`: {last}"})
        return passed

    def write_outcome(self, changes: Json, before: bool, after: bool, seed: Json, **more: Any) -> None:
        outcome = {
            "schema_version": 1,
            "changes": changes,
            "errored": False,
            "blocked": seed.get("blocked"),
            "tests_passing_before": before,
            "tests_passing_after": after,
            "summary_markdown": seed["summary"],
            "test_runs": self.runs,
            "escalations": seed.get("escalations", []),
            **more,
        }
        self.outcome_file.parent.mkdir(parents=True, exist_ok=True)
        self.outcome_file.write_text(json.dumps(outcome, indent=1) + "\n")

    def publish(self) -> int:
        done = shell(os.environ["SUPERVISOR_PUBLISH"])
        if "will be refused" in done.stdout:  # the scenario is to publish it all the same
            done = shell(os.environ["SUPERVISOR_PUBLISH"])
        self.log.step(("publishing was refused: " if done.returncode else "published. ") + done.stdout.strip())
        return done.returncode

    def crash(self) -> NoReturn:
        self.log.step("crashing, as the scenario says")
        os._exit(70)

    def hang(self) -> NoReturn:
        while True:
            self.log.step("still thinking")
            time.sleep(2)

    def silent(self) -> NoReturn:
        self.log.step("that will be all")
        self.working(False)
        while True:
            signal.pause()

    def wait_to_be_told(self, said: str, model: str = "rehearsal") -> None:
        self.log.step(said, model)
        self.working(False)
        word = sys.stdin.readline()
        self.working(True)
        self.log.step(f"told: {word.strip()}")

    def seed(self) -> tuple[Json, str]:
        """The script for this test, and the behaviour of this attempt."""
        if self.options.scenario is None:
            seed = {**self.defects["default"], **self.defects["tests"].get(self.test, {})}
            behaviours = seed.get("attempts", ["publish"])
            return seed, behaviours[min(self.attempt, len(behaviours)) - 1]
        seed = dict(self.defects["default"])
        if self.options.scenario in ("improve", "dirty-crash", "killed", "refused"):
            seed.update(changes=[sharpened(self.test)], summary="The test says what it promises.")
        return seed, self.options.scenario

    def work_on_a_test(self) -> int:
        seed, behaviour = self.seed()
        self.log.step(f"attempt {self.attempt} on {self.test}")
        before = self.run_test("before")
        time.sleep(self.options.work)
        if behaviour == "killed" and self.attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if behaviour in ENDLESS:
            getattr(self, behaviour)()
        changes = [each for each in seed.get("changes", []) if applies(each["edits"])]
        for change in changes:
            apply(change["edits"])
        if behaviour == "dirty-crash":
            self.crash()
        if behaviour == "refused" and self.attempt == 1:
            self.wait_to_be_told(f"usage limit reached, try again in {self.options.refused} s", SYNTHETIC)
        after = self.run_test("after") if changes else before
        if seed.get("runs_again") and not after:
            after = self.run_test("again")
        self.commit_each(changes)
        self.write_outcome(claims(changes, after), before, after, seed)
        if behaviour == "forget":
            self.wait_to_be_told("done, I think")
        return self.publish()

    def commit_each(self, changes: list[Json]) -> None:
        for change in filter(lambda change: change["edits"], changes):
            commit(f"[{change['kind']}] {change['subject']}", change["edits"])
            self.log.step(f"committed [{change['kind']}] {change['subject']}")

    def integrate(self) -> int:
        """Resolve the scripted conflicts, name repeated changes, accept the machine's ranking."""
        given = json.loads(Path(os.environ["SUPERVISOR_PROMPT"]).with_name("integration.json").read_text())
        conflicts = given["conflicts"]
        before = self.run_test("before") if self.command else True
        time.sleep(self.options.work)
        failed = [unresolved for conflict in conflicts if (unresolved := self.resolve(conflict))]
        repeated = self.repeated(given.get("repeated", []))
        after = self.run_test("after") if self.command else True
        summary = f"{len(conflicts)} conflicts, {len(failed)} unresolved; {len(repeated)} groups named."
        seed = {"summary": summary, "escalations": repeated}
        self.write_outcome({}, before, after, seed, failed=failed, ranking=given.get("ranking", []))
        return self.publish()

    def resolve(self, conflict: Json) -> Json | None:
        """Commit one side of a conflict on top of the other, or return why not."""
        seed = self.defects["tests"].get(conflict["test"], {})
        edits = seed.get("resolution", [])
        if not edits or not applies(edits):
            self.log.step(f"no resolution is known for {conflict['test']}")
            return {"job": conflict["job"], "change": conflict["change"], "reason": "no resolution is known"}
        apply(edits)
        change = seed["changes"][0]
        trailers = (f"Supervisor-Job: {conflict['job']}", f"Supervisor-Change: {conflict['change']}")
        commit(f"[{change['kind']}] {change['subject']}", edits, *trailers)
        self.log.step(f"resolved {conflict['test']}")
        return None

    def repeated(self, groups: list[Json]) -> list[Json]:
        """Escalate each group of repeated changes that has a scripted shared fix."""
        asked = [known for known in self.defects["normalizations"] if applies(known["edits"])]
        asked = [known for known in asked if any(set(known["tests"]) <= set(group["tests"]) for group in groups)]
        self.log.step(f"named {len(asked)} groups")
        return [{"kind": "SHARED_PATTERN", "title": known["subject"], "detail_markdown": ""} for known in asked]


def main() -> int:
    parser = argparse.ArgumentParser(prog="rehearsal", description="An agent without a model.")
    parser.add_argument("--defects", type=Path, default=defects_file(), help="the script of its behaviour")
    parser.add_argument("--scenario", choices=SCENARIOS, help="force this behaviour on every test")
    parser.add_argument("--work", type=float, default=0.0, metavar="SECONDS", help="how long to work")
    parser.add_argument("--refused", type=int, default=7200, metavar="SECONDS", help="how long it is refused")
    parser.add_argument("--tokens", type=int, default=0, help="prompt tokens that each step reports")
    agent = Agent(parser.parse_args())
    take_expected_name(agent.state)
    agent.working(True)
    try:
        return agent.integrate() if os.environ.get("SUPERVISOR_ROLE") == "integrator" else agent.work_on_a_test()
    finally:
        agent.working(False)


if __name__ == "__main__":
    sys.exit(main())
