"""The verbs that steer: cancel, retry, integrate, pause, resume, slots, drain, reload."""

import time
from typing import Annotated, Any

import typer

from supervisor.cli import session
from supervisor.cli.arguments import BATCH, TARGET, TIMEOUT
from supervisor.cli.patience import Patience
from supervisor.control.client import quoted
from supervisor.errors import NoSuchThing, Refused, Unreachable

TIMED_OUT = 124
ELSEWHERE = "The branch or commit of the repository to base the new branch on, instead of the batch's base."
ONTO = "For a batch that is over: start from this commit of the repository, such as HEAD."


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
    """Retry a job, or all jobs of a batch that did not end well.

    If the batch is over, they become a new batch with the same commit and profile; its id is printed.

    Example: supervisorctl retry k3f9x.2

    Example: supervisorctl retry k3f9x --onto HEAD
    """
    here = session.of(ctx)
    data = here.client.post(_path(target, "retry"), {"onto": onto} if onto else None)
    if data.get("retry_of"):
        here.show(data, str(data["batch"]))
        here.note(f"{'' if data['changed'] else 'already '}retrying {target} as batch {data['batch']}")
        return
    here.show(data, f"retrying {target}" if data["changed"] else "no job to retry")


def integrate(
    ctx: typer.Context,
    batch: Annotated[str, BATCH],
    onto: Annotated[str, typer.Option(metavar="REV", help=ELSEWHERE, show_default=False)] = "",
) -> None:
    """Make a branch of the work done so far. The agents continue, and the final branch will contain everything.

    --onto rebuilds the branch on another commit and prints its name, for example when the branch that the batch was
    submitted from has moved on; also for a batch that is over. Its tests run there again; conflicts are listed.

    Example: supervisorctl integrate k3f9x

    Example: supervisorctl integrate k3f9x --onto main
    """
    if onto:
        _integrate_onto(session.of(ctx), batch, onto)
        return
    done = f"integrating the work of {batch} so far; `supervisorctl status {batch}` will name the branch"
    _steer(ctx, _path(batch, "integrate"), done, f"{batch} has no new work since its last integration")


def _integrate_onto(here: session.Session, batch: str, onto: str) -> None:
    """Repeat the request until the daemon is done: its tests may take long."""
    patience, path = Patience(), _path(batch, "integrate")
    here.note(f"rebuilding the branch of {batch} on {onto}")
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
    here.show(data, data["branch"] or f"no branch was made: {batch} has nothing new on top of {onto}")
    if data["left"] or data["problems"]:
        raise typer.Exit(1)


def pause(
    ctx: typer.Context,
    batch: Annotated[str | None, BATCH] = None,
    reason: Annotated[str, typer.Option(help="Shown in `status`.")] = "",
) -> None:
    """Launch no more agents, for one batch or for all. Running agents may finish.

    Example: supervisorctl pause --reason "the disk is full"
    """
    if batch:
        _steer(ctx, _path(batch, "pause"), f"{batch} is paused", f"{batch} was paused already")
    else:
        _steer(ctx, "/v1/pause", "paused: no agents are launched", "already paused", {"reason": reason})


def resume(ctx: typer.Context, batch: Annotated[str | None, BATCH] = None) -> None:
    """Resume launching agents. Also ends a drain.

    Example: supervisorctl resume
    """
    if batch:
        _steer(ctx, _path(batch, "resume"), f"{batch} is resumed", f"{batch} was not paused")
    else:
        _steer(ctx, "/v1/resume", "resumed", "not paused")


def reload(ctx: typer.Context) -> None:
    """Read the configuration again. An invalid one is refused with the reason and changes nothing.

    Example: supervisorctl reload
    """
    _steer(ctx, "/v1/reload", "the new configuration is in force", "the configuration has not changed")


def slots(
    ctx: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(metavar="[POOL] N", help="The pool's name, if there are several, and its number of slots."),
    ],
) -> None:
    """Let a pool run N agents at once. Agents beyond N may finish; a reload that changes the pool undoes this.

    Example: supervisorctl slots local 2
    """
    here = session.of(ctx)
    if len(words) > 2 or not words[-1].isdigit():
        raise typer.BadParameter("give the number of slots; if there are several pools, name one before it")
    pool = words[0] if len(words) == 2 else _only_pool(here)
    data = here.client.put(f"/v1/pools/{quoted(pool)}/slots", {"slots": int(words[-1])})
    here.show(data, f"{pool} has {words[-1]} slots" + ("" if data["changed"] else ", as before"))


def _only_pool(here: session.Session) -> str:
    pools = [pool["name"] for pool in here.client.get("/v1/status")["pools"]]
    if len(pools) != 1:
        raise Refused("there are several pools, or none", hint=f"name one of: {', '.join(pools) or 'none'}")
    return str(pools[0])


def drain(
    ctx: typer.Context,
    deadline: Annotated[float | None, TIMEOUT] = None,
) -> None:
    """Launch no more agents, and wait until none is left. Ctrl-C stops waiting; `resume` ends the drain.

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
            here.note(f"draining: {said} agents are left; `supervisorctl resume` ends the drain")
        if time.monotonic() >= ends:
            here.show(
                {"schema_version": 1, "drained": False, "agents": said}, f"{said} agents are left; they continue"
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
            raise Refused("a resume ended the drain", hint="run `supervisorctl drain` again")
    here.show({"schema_version": 1, "drained": True, "agents": 0}, "drained: no agent is left, and none is launched")


def _path(target: str, verb: str) -> str:
    if not target.strip():
        raise NoSuchThing("an id is missing", hint="`supervisorctl status` lists the batches")
    return f"/v1/{'jobs' if '.' in target else 'batches'}/{quoted(target)}/{verb}"


def _steer(ctx: typer.Context, path: str, done: str, already: str, body: dict[str, Any] | None = None) -> None:
    here = session.of(ctx)
    data = here.client.post(path, body)
    here.show(data, done if data["changed"] else already)
