"""The verbs that change what goes on: cancel, retry, integrate, pause, resume, slots, drain, reload."""

import time
from typing import Annotated, Any

import typer

from supervisor.cli import session
from supervisor.cli.arguments import BATCH, TARGET, TIMEOUT
from supervisor.cli.patience import Patience
from supervisor.control.client import quoted
from supervisor.errors import NoSuchThing, Refused, Unreachable

TIMED_OUT = 124
ELSEWHERE = "A branch or commit of the repository to make the branch on, instead of the batch's own base."
ONTO = "Of a batch that is over: start from this commit of the repository, such as HEAD."


def cancel(ctx: typer.Context, target: Annotated[str, TARGET]) -> None:
    """Cancel a batch or a job. What its agents have done so far is rescued, not merged.

    Example: supervisorctl cancel k3f9x.2
    """
    _steer(ctx, _path(target, "cancel"), f"{target} is cancelled", f"{target} was cancelled already")


def retry(
    ctx: typer.Context,
    target: Annotated[str, TARGET],
    onto: Annotated[str, typer.Option(metavar="REV", help=ONTO, show_default=False)] = "",
) -> None:
    """Let a job go again, or all jobs of a batch that did not end well.

    Of a batch that is over they become a batch of their own, from the same commit and with the same profile: its id
    is printed.

    Example: supervisorctl retry k3f9x.2

    Example: supervisorctl retry k3f9x --onto HEAD
    """
    here = session.of(ctx)
    data = here.client.post(_path(target, "retry"), {"onto": onto} if onto else None)
    if data.get("retry_of"):
        here.show(data, str(data["batch"]))
        here.note(f"{target} goes again" + (f" as batch {data['batch']}" if data["changed"] else " already"))
        return
    here.show(data, f"{target} goes again" if data["changed"] else f"nothing of {target} is to go again")


def integrate(
    ctx: typer.Context,
    batch: Annotated[str, BATCH],
    onto: Annotated[str, typer.Option(metavar="REV", help=ELSEWHERE, show_default=False)] = "",
) -> None:
    """Make a branch of what a batch has done so far. Its agents go on, and the last branch has everything.

    With --onto the branch is made again on another commit, and its name printed: where the branch that the batch was
    submitted from has moved on, also when the batch is over. It is proved there by its tests; what collides is named.

    Example: supervisorctl integrate k3f9x

    Example: supervisorctl integrate k3f9x --onto main
    """
    if onto:
        _integrate_onto(session.of(ctx), batch, onto)
        return
    done = f"what is done so far of {batch} is being integrated; `supervisorctl status {batch}` names the branch"
    _steer(ctx, _path(batch, "integrate"), done, f"nothing of {batch} was done since the last time")


def _integrate_onto(here: session.Session, batch: str, onto: str) -> None:
    """It may take as long as its tests: asked again, the daemon says how it stands."""
    patience, path = Patience(), _path(batch, "integrate")
    here.note(f"the branch of {batch} is made again on {onto}")
    while True:
        try:
            data = here.client.post(path, {"onto": onto})
            patience.reward()
        except Unreachable as away:
            patience.wait(away, until=float("inf"))
            continue
        if data["state"] != "working":
            break
    for each in data["left"]:
        here.note(f"{each['job']} {each['ledger']}: {each['detail']}")
    for said in (*data["problems"], *data["notes"]):
        here.note(said)
    here.show(data, data["branch"] or f"nothing of {batch} is new there: no branch is made")
    if data["left"] or data["problems"]:
        raise typer.Exit(1)


def pause(
    ctx: typer.Context,
    batch: Annotated[str | None, BATCH] = None,
    reason: Annotated[str, typer.Option(help="Shown to whoever asks.")] = "",
) -> None:
    """Launch nothing more, of one batch or at all. What runs may finish.

    Example: supervisorctl pause --reason "the disk is full"
    """
    if batch:
        _steer(ctx, _path(batch, "pause"), f"{batch} is paused", f"{batch} was paused already")
    else:
        _steer(ctx, "/v1/pause", "paused: nothing is launched", "it was paused already", {"reason": reason})


def resume(ctx: typer.Context, batch: Annotated[str | None, BATCH] = None) -> None:
    """Launch again. Also ends a drain.

    Example: supervisorctl resume
    """
    if batch:
        _steer(ctx, _path(batch, "resume"), f"{batch} goes on", f"{batch} was not paused")
    else:
        _steer(ctx, "/v1/resume", "it goes on", "it was not paused")


def reload(ctx: typer.Context) -> None:
    """Read the configuration again. One that can't be used changes nothing, and says what is wrong.

    Example: supervisorctl reload
    """
    _steer(ctx, "/v1/reload", "the new configuration is in force", "nothing in the configuration is new")


def slots(
    ctx: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="[POOL] N", help="Its name, if there are several.")],
) -> None:
    """Let a pool run N agents at once. Those beyond it may finish; the next reload of the pool undoes it.

    Example: supervisorctl slots local 2
    """
    here = session.of(ctx)
    if len(words) > 2 or not words[-1].isdigit():
        raise typer.BadParameter("give a number of slots, and before it the pool if there are several")
    pool = words[0] if len(words) == 2 else _only_pool(here)
    data = here.client.put(f"/v1/pools/{quoted(pool)}/slots", {"slots": int(words[-1])})
    here.show(data, f"{pool} has {words[-1]} slots" + ("" if data["changed"] else ", as before"))


def _only_pool(here: session.Session) -> str:
    pools = [pool["name"] for pool in here.client.get("/v1/status")["pools"]]
    if len(pools) != 1:
        raise Refused("which pool is meant is not clear", hint=f"name one of: {', '.join(pools) or 'none'}")
    return str(pools[0])


def drain(
    ctx: typer.Context,
    deadline: Annotated[float | None, TIMEOUT] = None,
) -> None:
    """Launch nothing more, and wait until no agent is left. Ctrl-C ends the waiting, `resume` ends the drain.

    Example: supervisorctl drain --deadline 1800
    """
    here = session.of(ctx)
    client, patience = here.client, Patience()
    data = client.post("/v1/drain")
    ends = float("inf") if deadline is None else time.monotonic() + deadline
    said = -1
    while data["agents"]:
        if data["agents"] != said:
            said = data["agents"]
            here.note(f"draining: {said} agents are still there; `supervisorctl resume` ends the drain")
        if time.monotonic() >= ends:
            here.show(
                {"schema_version": 1, "drained": False, "agents": said}, f"{said} agents are still there; they go on"
            )
            raise typer.Exit(TIMED_OUT)
        try:
            time.sleep(max(0.0, min(0.5, ends - time.monotonic())))
            data = client.get("/v1/status")
            patience.reward()
        except Unreachable as away:
            patience.wait(away, until=ends)
            continue
        if not data["paused"]:
            raise Refused("the drain was ended by a resume", hint="`supervisorctl drain` begins another")
    here.show({"schema_version": 1, "drained": True, "agents": 0}, "drained: no agent is left, nothing is launched")


def _path(target: str, verb: str) -> str:
    if not target.strip():
        raise NoSuchThing("an id is missing", hint="`supervisorctl status` lists the batches")
    return f"/v1/{'jobs' if '.' in target else 'batches'}/{quoted(target)}/{verb}"


def _steer(ctx: typer.Context, path: str, done: str, already: str, body: dict[str, Any] | None = None) -> None:
    here = session.of(ctx)
    data = here.client.post(path, body)
    here.show(data, done if data["changed"] else already)
