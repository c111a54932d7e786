"""`submit`: check the checkout, collect its tests, choose from them, send them to the daemon."""

from pathlib import Path
from typing import Annotated, Any

import typer

from supervisor.cli import choices, session, waiting, wanting
from supervisor.cli.wanting import Select, Unit, Wanted, Wish

#: the daemon copies the repository before it answers
SUBMIT_SECONDS = 1800.0


def submit(
    ctx: typer.Context,
    paths: Annotated[list[str] | None, wanting.PATHS] = None,
    repo: Annotated[Path, wanting.REPO] = Path(),
    profile: Annotated[str, wanting.PROFILE] = "default",
    per: Annotated[Unit | None, wanting.PER] = None,
    select: Annotated[Select | None, wanting.SELECT] = None,
    since: Annotated[str, wanting.SINCE] = "",
    sample: Annotated[int | None, wanting.SAMPLE] = None,
    seed: Annotated[str, wanting.SEED] = "",
    limit: Annotated[int | None, wanting.LIMIT] = None,
    priority: Annotated[int, typer.Option(min=-1000, max=1000, help="Higher runs first.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be submitted.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is over; for exit codes see `wait`.")] = False,
    carry_over: Annotated[
        bool, typer.Option("--carry-over", help="First what the profile's last batch had no agent for.")
    ] = False,
    allow_dirty: Annotated[bool, wanting.DIRTY] = False,
) -> None:
    """Put an agent on every collected test: one job per function, with all its cases. Prints the batch id.

    Example: supervisorctl submit tests --select changed --dry-run -- -k test_one
    """
    here, wish = session.of(ctx), Wish(select, since, limit, sample, seed)
    rest = list(ctx.meta.get("rest", []))
    asked = wanting.wanted(here, paths, rest, wish, repo=repo, profile=profile, per=per, allow_dirty=allow_dirty)
    plan = asked.plan(here) if dry_run or asked.is_chosen_from else None
    if plan is not None and (dry_run or not plan["jobs"]):
        data = {"schema_version": 1, "batch": None, "jobs": plan["jobs"], "changed": False}
        choices.show(here, asked, plan, data)
        return
    body = _body(asked, plan) | {"priority": priority, "carry_over": carry_over}
    answer = here.client.post("/v1/submit", body, timeout=SUBMIT_SECONDS)
    batch, counted = answer["batch"], choices.counted(body["tests"], body["cases"], asked.unit)
    if plan is not None and plan["skipped"]:
        here.note(choices.left_out(plan))
    if wait:
        here.note(f"batch {batch}: {counted}")
        waiting.wait(ctx, batch)
    here.show(answer, batch)
    here.note(f"{counted}; `supervisorctl follow {batch}` shows their progress")


def _body(asked: Wanted, plan: dict[str, Any] | None) -> dict[str, Any]:
    found = {"tests": asked.found.tests, "cases": asked.found.cases}
    chosen = found if plan is None else {key: plan[key] for key in ("tests", "cases", "audited")}
    body = {key: asked.checkout[key] for key in ("repo", "base", "profile")}
    body |= {"per": asked.unit, "pytest_args": asked.rest, "python_path": list(asked.python_path)}
    return body | chosen | ({"select": asked.wish.select} if asked.wish.select else {})
