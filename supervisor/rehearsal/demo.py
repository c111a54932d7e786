"""A complete run in a few minutes, without an API key or a model: `supervisorctl demo`, or `make demo`.

A separate daemon in a temporary directory works on the rehearsal target, with the real mngr, tmux and git, and with
the same commands that a user types. It leaves nothing behind: no agent, no tmux server, no process, no file.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from supervisor.adapters.private_tmux import PrivateTmux, leave_the_users_tmux
from supervisor.errors import Refused
from supervisor.rehearsal import lay_out

SLOTS = 6
ALL = ("tests/e2e",)
START_SECONDS = 30.0
REPORT_LINES = 24
#: a file system in memory, and what has to be free there: several times what the demo takes
MEMORY, ROOM = Path("/dev/shm"), 2**31

CONFIG = """\
state_dir = "{folder}/state"
socket = "{folder}/ctl.sock"
verify_slots = 2

[mngr]
list_seconds = 5

[[pools]]
name = "local"
slots = {slots}

[profiles.default]
agent = "rehearsal"
# Other plugins of the environment would be most of the time of a run.
pytest = ["{python}", "-m", "pytest", "-q", "-p", "supervisor_e2e"]
env = {{ PYTEST_DISABLE_PLUGIN_AUTOLOAD = "1" }}
keep_agents = "none"
job_timeout_seconds = 60
stall_timeout_seconds = 20
test_timeout_seconds = 30
"""

#: What each outcome means, in the order of the summary.
MEANINGS = {
    "fixed": "failed before; an agent changed the code, the test or the tutorial, and it passes now",
    "improved": "passed before; an agent strengthened its assertions",
    "clean": "there was nothing to improve",
    "fixed-by-sibling": "failed at the same place as another test, whose fix does for both",
    "blocked": "the agent reported that it needs something from a person",
    "failed": "the agent gave up, or what it claimed did not hold",
    "timed-out": "not done within its time; what it had was rescued",
    "stalled": "its agents showed no activity for too long",
    "lost": "its agents died; their work was rescued, committed or not",
    "cancelled": "a person cancelled it",
}
#: Cancelled as soon as it is submitted, to show that outcome, too.
CALLED_OFF = "test_move_what_is_not_there_is_refused"


def main(tests: Sequence[str] = ()) -> int:
    leave_the_users_tmux()
    if missing := [tool for tool in ("mngr", "tmux", "git", "rsync") if shutil.which(tool) is None]:
        hint = "`supervisorctl doctor` says how to get what is missing"
        raise Refused(f"the demo needs {', '.join(missing)} on PATH", hint=hint)
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # to clear up, as after Ctrl-C
    # Not under TMPDIR: the path of a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="sv-demo-", dir=ground()))
    try:
        return _told(folder, started, tests or ALL)
    finally:
        _clear(folder)


def ground() -> Path:
    """In memory, if programs can be started there: on some disks, deleting a checkout takes as long as its tests."""
    try:
        memory = os.statvfs(MEMORY)
    except OSError:
        return Path("/tmp")
    is_fit = memory.f_bavail * memory.f_frsize >= ROOM and not memory.f_flag & os.ST_NOEXEC
    return MEMORY if is_fit and os.access(MEMORY, os.W_OK) else Path("/tmp")


def _told(folder: Path, started: float, tests: Sequence[str]) -> int:
    repo = folder / "pantry"
    lay_out(repo)
    config = folder / "config.toml"
    config.write_text(CONFIG.format(folder=folder, slots=SLOTS, python=sys.executable))
    _say(
        "A rehearsal: `pantry`, a small tool with a tutorial and 44 end-to-end tests, half of them with a defect.",
        "Each test gets its own agent, through the real mngr. No model and no API key are used: the rehearsal",
        "agent is a script that knows the seeded defects and follows the same contract as a coding agent.",
    )
    with _daemon(folder, config):
        batch = json.loads(_run(folder, "submit", *tests, "--json", show=f"submit {' '.join(tests)}"))
        name = batch["batch"]
        print(f"{batch['jobs']} jobs in batch {name}\n")
        for job in _jobs(folder, name):
            if job["test"].endswith(CALLED_OFF):
                _run(folder, "cancel", job["id"], quiet=False)
        _run(folder, "follow", name, quiet=False)
        status = json.loads(_run(folder, "status", name, "--json", show=""))["batch"]
        jobs = _jobs(folder, name)
        report = _run(folder, "report", name, show=f"report {name} | head -{REPORT_LINES}").splitlines()
        print("\n".join([*report[:REPORT_LINES], "…"]))
    _sum_up(status, jobs, time.monotonic() - started)
    _show_branch(repo, status)
    return 0 if status["state"] == "finished" else 1


def _jobs(folder: Path, batch: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(_run(folder, "jobs", batch, "--json", show=""))["rows"]
    return rows


@contextmanager
def _daemon(folder: Path, config: Path) -> Iterator[None]:
    _say(f"$ supervisord --config {config} &")
    # What is configured for a daemon of the user's is nothing to this one.
    env = {name: value for name, value in os.environ.items() if not name.startswith("SUPERVISOR_")}
    temporary = folder / "tmp"
    temporary.mkdir()
    env["TMPDIR"] = str(temporary)
    command = [_beside("supervisord"), "--config", str(config), "--log-format", "json"]
    with (
        (folder / "daemon.log").open("wb") as log,
        subprocess.Popen(command, env=env, stderr=log, stdout=log) as daemon,
    ):
        try:
            deadline = time.monotonic() + START_SECONDS
            while not (folder / "ctl.sock").exists():
                if daemon.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit((folder / "daemon.log").read_text()[-2000:])
                time.sleep(0.05)
            yield
        finally:
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(timeout=10)
            finally:
                daemon.kill()


def _beside(command: str) -> str:
    """The command of this installation, whatever else is on PATH."""
    return str(Path(sys.executable).with_name(command))


def _run(folder: Path, *words: str, show: str | None = None, quiet: bool = True) -> str:
    shown = " ".join(words) if show is None else show
    if shown:
        _say(f"$ supervisorctl {shown}")
    command = [_beside("supervisorctl"), "--socket", str(folder / "ctl.sock"), *words]
    stdout = subprocess.PIPE if quiet else None
    done = subprocess.run(command, cwd=folder / "pantry", stdout=stdout, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: some jobs failed, as intended
        raise SystemExit(f"supervisorctl {words[0]} ended with {done.returncode}: {done.stdout or ''}")
    return done.stdout or ""


def _sum_up(status: Mapping[str, Any], jobs: Iterable[Mapping[str, Any]], seconds: float) -> None:
    print()
    _say(f"Results of {status['jobs']['total']} tests in {seconds:.0f} seconds, with {SLOTS} agents at a time:")
    names = {str(job["outcome"]): str(job["test"]).rpartition("::")[2] for job in jobs}
    for outcome, meaning in MEANINGS.items():
        print(f"  {status['outcomes'].get(outcome, 0):>3}  {outcome:<10} {meaning}")
        if outcome in names:
            print(f"{'':17}such as {names[outcome]}")
    print()


def _show_branch(repo: Path, status: Mapping[str, Any]) -> None:
    """Show the branch, which is what a person reviews."""
    if branch := status["branch"]:
        _say(
            "Their verified work is on one branch to review. Changes to tests and tutorial are",
            "one commit, and each fix of the tool is another. One more agent resolved fixes that conflicted.",
            f"$ git log --oneline {branch}",
        )
        log = ["git", "-C", str(repo), "log", "--oneline", "--reverse", f"HEAD..{branch}"]
        print(subprocess.run(log, stdout=subprocess.PIPE, text=True, check=True).stdout)
    _say(
        'No model was used: the agents were scripts. With `agent = "claude"` the same commands run real agents.',
        "Next: `supervisorctl submit --help`, in a repository of yours.",
    )


def _say(*lines: str) -> None:
    print("\n".join(lines) + "\n", flush=True)


def _clear(folder: Path) -> None:
    PrivateTmux.below(folder / "state" / "tmux").end()
    shutil.rmtree(folder, ignore_errors=True)
