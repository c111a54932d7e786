"""The read-only verbs: status, jobs, job, events, version."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from supervisor import __version__
from supervisor.cli import printing, session
from supervisor.cli.arguments import BATCH, JOB
from supervisor.cli.tables import table
from supervisor.control.client import Client, quoted
from supervisor.errors import Refused, Unreachable
from supervisor.observe.survey import in_words

#: so many patterns of failures are shown
MOST_PATTERNS = 3


def status(ctx: typer.Context, batch: Annotated[str | None, BATCH] = None) -> None:
    """Show open batches and pools; with BATCH, the state of that batch.

    Example: supervisorctl status
    """
    here = session.of(ctx)
    if batch:
        data = here.client.get(f"/v1/batches/{quoted(batch)}")
        here.show(data, batch_text(data["batch"]))
        return
    data = here.client.get("/v1/status")
    here.show(data, _queue_text(data))


def batch_text(batch: dict[str, Any]) -> str:
    rows = [
        f"batch {batch['id']}: {printing.paint(batch['state'], printing.PAINT.get(batch['state'], ''))}",
        f"  repository  {printing.clean(batch['repo'])} at {batch['base'][:12]}",
        f"  jobs        {batch['jobs']['total']}: {printing.counts(batch['jobs'], without=['total'])}",
        f"  outcomes    {printing.counts(batch['outcomes'])}",
    ]
    if batch.get("stopped"):
        rows[0] += f", stopped: {printing.paint(batch['stopped'], 'yellow')}"
    if batch.get("waits_for"):
        rows.append(f"  waits       {printing.clean(batch['waits_for'])}")
    rows += [f"  held        {held(each)}" for each in batch.get("siblings", ())[:MOST_PATTERNS]]
    rows += [f"  failures    {failure(each)}" for each in batch.get("patterns", ())[:MOST_PATTERNS]]
    if known := in_words(batch.get("survey")):  # absent from a batch that an older version sealed
        rows.insert(2, f"  the base    {known}")
    if verified := claims(batch):
        rows.append(f"  verify      {verified}")
    if batch["finished_at"]:
        rows.append(f"  ledger      {printing.counts(batch['ledger'])}")
    if batch["branch"]:
        rows.append(f"  branch      {printing.clean(batch['branch'])}")
    elif so_far := batch.get("so_far"):  # absent from a batch that an older version sealed
        where = ", ".join(so_far[key] for key in ("branch", "pull_request") if so_far[key]) or "nothing to merge"
        over = f"{so_far['jobs']} of {batch['jobs']['total']} jobs"
        rows.append(f"  so far      {printing.clean(where)}, {over}")
    rows += [f"  problem     {printing.clean(problem)}" for problem in batch.get("problems", ())]
    rows += [f"  attention   {printing.clean(entry['message'])}" for entry in batch["attention"]]
    return "\n".join(rows)


def failure(pattern: dict[str, Any]) -> str:
    """`5 jobs timed-out while running: not done within 3600 s`."""
    jobs = "1 job" if pattern["count"] == 1 else f"{pattern['count']} jobs"
    said = f": {pattern['sample']}" if pattern["sample"] else ""
    return printing.clean(f"{jobs} {pattern['outcome']} while {pattern['stage']}{said}")


def held(family: dict[str, Any]) -> str:
    """`5 jobs for k3f9x.1: tests/conftest.py:12 in shop: …`."""
    jobs = "1 job" if family["held"] == 1 else f"{family['held']} jobs"
    return printing.clean(f"{jobs} for {family['first']}: {family['place']}")


def claims(batch: dict[str, Any]) -> str:
    """What waits to be verified, and for what; "" for nothing."""
    verify = batch.get("verify") or {"waiting": 0, "running": 0}  # absent from a batch that an older version sealed
    if not verify["waiting"]:
        return f"claims: {verify['running']} in hand" if verify["running"] else ""
    slots = "the verify slot" if verify["slots"] == 1 else f"one of {verify['slots']} verify slots"
    return f"claims: {verify['running']} in hand, {verify['waiting']} waiting for {slots}"


def _queue_text(data: dict[str, Any]) -> str:
    why = f" ({printing.clean(data['pause_reason'])})" if data["pause_reason"] else ""
    parts = (
        [printing.paint(f"paused{why}: no agents are launched; `supervisorctl resume`", "yellow")]
        if data["paused"]
        else []
    )
    if data["batches"]:
        head = ("batch", "state", "jobs", "waiting", "at work", "checked", "over", "outcomes")
        parts.append(table(head, [_batch_row(batch) for batch in data["batches"]]))
    else:
        parts.append("no batch is open; `supervisorctl submit tests/e2e` makes one")
    rows = [_pool_row(pool) for pool in data["pools"]]
    verifying = [*_verify_row("local", data.get("verify"))]
    verifying += [row for pool in data["pools"] for row in _verify_row(pool["name"], pool.get("verify"))]
    parts.append(table(("pool", "provider", "slots", "note"), [*rows, *verifying]))
    if accounts := data.get("accounts"):  # absent from an older daemon
        parts.append(table(("account", "agents", "note"), [_account_row(each) for each in accounts]))
    if disk := data.get("disk"):
        parts.append(printing.disk(disk))
    parts += [f"! {printing.clean(entry['message'])}" for entry in data["attention"]]
    return "\n\n".join(parts)


def _batch_row(batch: dict[str, Any]) -> tuple[object, ...]:
    jobs = batch["jobs"]
    over = jobs["done"] + jobs["cancelled"]
    state = batch["state"] if batch["window_open"] else "outside its window"
    state = "waits for canaries" if batch.get("waits_for") else state
    state = f"stopped: {batch['stopped']}" if batch["stopped"] else "paused" if batch["paused"] else state
    counts = printing.counts(batch["outcomes"])
    checked = jobs["collecting"] + jobs["verifying"]
    return batch["id"], state, jobs["total"], waiting(jobs), batch["at_work"], checked, over, counts


def under_way(jobs: dict[str, int]) -> int:
    """How many of a batch's jobs neither wait nor are over."""
    return jobs["total"] - waiting(jobs) - jobs["done"] - jobs["cancelled"]


def waiting(jobs: dict[str, int]) -> int:
    """Those that are held, too; a batch that an older version sealed has none."""
    return jobs["queued"] + jobs.get("held", 0)


def _pool_row(pool: dict[str, Any]) -> tuple[object, ...]:
    note = "resting" if pool["resting"] else pool.get("held_back") or ""
    return pool["name"], pool["provider"], f"{pool['busy']}/{pool['slots']}", printing.clean(note)


def _account_row(account: dict[str, Any]) -> tuple[object, ...]:
    notes = [pause["message"] for pause in account["pauses"]] or [account["level_why"]]
    return (
        printing.clean(account["name"]),
        f"{account['agents']}/{account['level']}",
        printing.clean("; ".join(notes)),
    )


def _verify_row(where: str, verify: dict[str, int] | None) -> Iterator[tuple[object, ...]]:
    """Claims need a slot as agents do; what waits for one is the queue between the agents and the branch."""
    files = verify.get("at_base", 0) if verify else 0
    if verify and (verify["claims"] or verify["waiting"] or files):
        note = f"claims: {verify['claims']} in hand, {verify['waiting']} waiting for a slot"
        note += f"; {files} {'file' if files == 1 else 'files'} at the base" if files else ""
        yield "(verify)", where, f"{verify['busy']}/{verify['slots']}", note


def jobs(
    ctx: typer.Context,
    batch: Annotated[str | None, BATCH] = None,
    state: Annotated[str | None, typer.Option(help="Only jobs in this state or with this outcome.")] = None,
) -> None:
    """List the jobs of a batch, one per line. Default: the batch submitted last.

    Example: supervisorctl jobs --state failed
    """
    here = session.of(ctx)
    data = here.client.get(f"/v1/batches/{session.batch_or_latest(here.client, batch)}/jobs")
    data["rows"] = [row for row in data["rows"] if state in (None, row["state"], row["outcome"])]
    shared = any(row.get("cases", 1) > 1 for row in data["rows"])  # absent from a batch that an older version sealed
    columns = ("id", "state", "outcome", "attempts", "pool", *(["cases"] if shared else []), "test")
    here.show(data, table(columns, [[row.get(column, 1) for column in columns] for row in data["rows"]]))


def job(ctx: typer.Context, job: Annotated[str, JOB]) -> None:
    """Show everything known about one job, and its events.

    Example: supervisorctl job k3f9x.1
    """
    here = session.of(ctx)
    data = here.client.get(f"/v1/jobs/{quoted(job)}")
    known = data["job"]
    happened = here.client.get("/v1/events", job=known["id"], newest=True, limit=20)["rows"]
    facts = "\n".join(
        f"{key:<14}{printing.clean(value)}"
        for key, value in known.items()
        if value not in (None, "", []) and key not in ("work", "recordings")
    )
    facts = "\n".join([facts, *(f"{'work':<14}{work_line(each)}" for each in known.get("work") or ())])
    facts = "\n".join([facts, *(f"{'recording':<14}{_recording(each)}" for each in known.get("recordings") or ())])
    here.show(data, "\n".join([facts, "", *(printing.event_line(event) for event in happened)]))


def _recording(each: dict[str, Any]) -> str:
    title = f" {each['title']}" if each["title"] else ""
    return printing.clean(f"{each['of']}: {each['name']}{title}, {each['seconds']:.1f} s")


def work_line(each: dict[str, Any]) -> str:
    """Where an attempt's work is: under a ref in the daemon's repository, with a kept agent, or both."""
    agent = each["agent"]
    parts = [f"{each['ref']}, commits: {each['commits']}"] if each["ref"] else []
    parts += [f"kept agent {agent['name']} ({agent['reach']}) has {agent['has']}"] if agent else []
    return printing.clean("; ".join(parts))


def events(
    ctx: typer.Context,
    batch: Annotated[str | None, BATCH] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow: show events as they happen.")] = False,
    after: Annotated[
        int | None, typer.Option(min=0, help="Start after this sequence number, without gaps or repeats.")
    ] = None,
    lines: Annotated[
        int, typer.Option("-n", min=0, max=1000, help="Without --after: show this many of the latest.")
    ] = 20,
) -> None:
    """Show what has happened, one event per line. -f continues when the daemon restarts.

    Example: supervisorctl events -n 5
    """
    here = session.of(ctx)
    client = here.client
    meant = session.batch_or_latest(client, batch) if batch else ""
    seq = after or 0
    for event in _past(client, meant, after, lines):
        seq = event["seq"]
        print(event_text(event, as_json=here.json), flush=True)
    if follow:
        for event in followed(client, meant, seq):
            print(event_text(event, as_json=here.json), flush=True)


def event_text(event: dict[str, Any], *, as_json: bool) -> str:
    return json.dumps(event) if as_json else printing.event_line(event)


def _past(client: Client, batch: str, after: int | None, lines: int) -> Iterator[dict[str, Any]]:
    if after is None:
        if lines:
            yield from client.get("/v1/events", batch=batch, newest=True, limit=lines)["rows"]
        return
    while rows := client.get("/v1/events", batch=batch, after=after)["rows"]:
        yield from rows
        after = rows[-1]["seq"]


def followed(client: Client, batch: str, after: int) -> Iterator[dict[str, Any]]:
    """Events as they happen, across restarts of the daemon; raises Unreachable if it does not come back."""
    from supervisor.cli.patience import Patience

    patience = Patience()
    while True:
        try:
            for event in client.events(after, batch=batch):
                patience.reward()
                if event:
                    after = event["seq"]
                    yield event
        except Unreachable as away:
            patience.wait(away)
        else:
            patience.wait(Unreachable("the daemon stopped", hint="start it again; its agents are still running"))


def metrics(
    ctx: typer.Context,
    token: Annotated[
        bool, typer.Option("--token", help="Print the token for /metrics on the dashboard's port.")
    ] = False,
) -> None:
    """Print the daemon's metrics, in the text format of Prometheus; or the token that Prometheus needs for them.

    Example: supervisorctl metrics
    """
    here = session.of(ctx)
    if token:
        invited = here.client.post("/v1/dashboard")
        if not invited["port"]:
            raise Refused("the dashboard has no port", hint="set `port` under [dashboard]; docs/metrics.md says more")
        data = {"schema_version": 1, "token": invited["reader_token"], "port": invited["port"]}
        here.show(data, str(invited["reader_token"]))
        return
    text = here.client.text("/metrics")
    here.show({"schema_version": 1, "text": text}, text.rstrip())


def version(ctx: typer.Context) -> None:
    """Show the version of this command and of the daemon.

    Example: supervisorctl version
    """
    here = session.of(ctx)
    try:
        daemon = here.client.get("/v1/version").get("version")
    except Unreachable:
        daemon = None
    data = {"schema_version": 1, "version": __version__, "daemon": daemon}
    here.show(data, f"supervisorctl {__version__}, daemon {daemon or 'not reachable'}")
