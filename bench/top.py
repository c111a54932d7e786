"""What `supervisorctl top` takes of a core while 300 agents work: in a real tmux of 200x60, for 20 s.

A stand-in answers as the daemon does, with rows of which a few change each second. The floor is an empty queue.
"""

import json
import shutil
import socketserver
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import psutil

from supervisor.adapters.private_tmux import PrivateTmux
from supervisor.model.job import JobState
from supervisor.observe.snapshot import rfc3339

AGENTS, SECONDS, START_SECONDS = 300, 20.0, 8.0


def status(agents: int) -> dict[str, Any]:
    jobs = {state.value: 0 for state in JobState}
    batch = {
        "id": "k3f9x",
        "state": "running",
        "window_open": True,
        "stopped": None,
        "paused": False,
        "jobs": jobs | {"total": 10_000, "running": agents},
        "at_work": agents,
        "tokens": {"input": int(time.time())},
        "outcomes": {"fixed": 12},
    }
    pools = [{"name": "local", "slots": agents, "busy": agents, "resting": False}]
    state = {"paused": False, "pause_reason": "", "attention": [], "pools": pools}
    return state | {"batches": [batch] if agents else []}


def at_work(agents: int) -> dict[str, Any]:
    now = time.time()
    row = {"state": "running", "outcome": None, "health": "", "attempts": 1, "pool": "local"}
    rows = [
        row
        | {
            "id": f"k3f9x.{number}",
            "since": rfc3339(now - 61 * number),
            "tokens": 1000 * number + (int(now) if number % 30 == 0 else 0),
            "test": f"tests/e2e/test_it.py::test_{number}",
        }
        for number in range(1, agents + 1)
    ]
    return {"as_of": rfc3339(now), "rows": rows}


class Answering(BaseHTTPRequestHandler):
    agents = 0

    def do_GET(self) -> None:
        body = json.dumps(status(self.agents) if "status" in self.path else at_work(self.agents)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass

    def address_string(self) -> str:
        return "here"


def share(agents: int) -> float:
    """Of a core, once it has started."""
    Answering.agents = agents
    home = Path(tempfile.mkdtemp(prefix="bench-top-"))
    tmux, socket = PrivateTmux.below(home), home / "ctl.sock"
    with socketserver.ThreadingUnixStreamServer(str(socket), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = f"SUPERVISOR_SOCKET={socket} {Path(sys.executable).parent}/supervisorctl top"
        tmux.run("new-session", "-d", "-s", "top", "-x", "200", "-y", "60", command)
        try:
            time.sleep(START_SECONDS)
            shell = psutil.Process(int(tmux.run("display-message", "-p", "-t", "top", "#{pane_pid}").stdout))
            top = next((each for each in shell.children(recursive=True)), shell)
            shown = tmux.run("capture-pane", "-p", "-t", "top").stdout
            assert all(word in shown for word in (f"local {agents}/{agents}", *["::test_1 "] * bool(agents))), shown
            before, began = top.cpu_times(), time.monotonic()
            time.sleep(SECONDS)
            after = top.cpu_times()
            return (after.user + after.system - before.user - before.system) / (time.monotonic() - began)
        finally:
            tmux.end()
            server.shutdown()
            shutil.rmtree(home, ignore_errors=True)


def main() -> None:
    floor, taken = share(0), share(AGENTS)
    print(f"top, {AGENTS} agents, 200x60: {taken:.1%} of a core (5 % is the limit), {floor:.1%} with an empty queue")


if __name__ == "__main__":
    main()
