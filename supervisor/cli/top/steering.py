"""What the keys of `top` ask of the daemon; each says what came of it."""

from supervisor.control.client import Client, quoted
from supervisor.errors import Refused


def pause_or_resume(client: Client, batch: str) -> str:
    """Of the batch; without one, of the whole queue."""
    if not batch:
        paused = client.get("/v1/status")["paused"]
        client.post("/v1/resume") if paused else client.post("/v1/pause", {"reason": ""})
        return "the queue is resumed" if paused else "the queue is paused: agents at work go on"
    path, found = f"/v1/batches/{quoted(batch)}", client.get(f"/v1/batches/{quoted(batch)}")["batch"]
    held = found["paused"] or found.get("stopped")
    client.post(f"{path}/resume" if held else f"{path}/pause")
    return f"{batch} is resumed" if held else f"{batch} is paused: its agents at work go on"


def retry(client: Client, subject: str) -> str:
    data = client.post(f"{_path(subject)}/retry")
    return f"retrying {subject}" if data["changed"] else "no job to retry"


def cancel(client: Client, subject: str) -> str:
    data = client.post(f"{_path(subject)}/cancel")
    return f"{subject} is cancelled" if data["changed"] else f"{subject} was cancelled already"


def slots(client: Client, text: str) -> str:
    """`local 6`."""
    pool, _, number = text.rpartition(" ")
    if not pool or not number.isdecimal():
        raise Refused(f"{text} is not a pool and a number", hint="such as: local 6")
    client.put(f"/v1/pools/{quoted(pool.strip())}/slots", {"slots": int(number)})
    return f"{pool.strip()} has {number} slots"


def _path(subject: str) -> str:
    return f"/v1/{'jobs' if '.' in subject else 'batches'}/{quoted(subject)}"
