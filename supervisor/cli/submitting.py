"""`submit`: look at the checkout, collect, hand the tests over."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from supervisor.cli import collecting, session, waiting
from supervisor.errors import NoSuchThing

#: the daemon copies the repository before it answers
SUBMIT_SECONDS = 1800.0

PATHS = typer.Argument(
    metavar="[PATHS] [-- PYTEST ARGS]",
    help="What to collect, as for pytest; what stands after -- goes to it.",
    show_default=False,
)


def submit(
    ctx: typer.Context,
    paths: Annotated[list[str] | None, PATHS] = None,
    repo: Annotated[Path, typer.Option(metavar="DIR", help="A checkout of the repository.")] = Path(),
    profile: Annotated[str, typer.Option(help="How the agents work; see `config show`.")] = "default",
    priority: Annotated[int, typer.Option(min=-1000, max=1000, help="Higher goes first.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be submitted.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end; see `wait` for the exit codes.")] = False,
    allow_dirty: Annotated[bool, typer.Option("--allow-dirty", help="Leave uncommitted work out.")] = False,
) -> None:
    """Put an agent on every collected test: one job each. Prints the batch.

    Example: supervisorctl submit tests --dry-run -- -k test_one
    """
    here = session.of(ctx)
    client, rest = here.client, list(ctx.meta.get("rest", []))
    asked = {"repo": os.path.realpath(repo), "profile": profile, "allow_dirty": str(allow_dirty).lower()}
    checkout = client.get("/v1/checkout", **asked)
    root = Path(checkout["repo"])
    wanted = [_from_root(path, root) for path in paths or []]
    tests = collecting.collect(root, checkout["pytest"], [*wanted, *rest], timeout=checkout["timeout_seconds"])
    if dry_run:
        data = {"schema_version": 1, "batch": None, "jobs": len(tests), "changed": False, "tests": tests}
        here.show(data, "\n".join([*tests, f"{len(tests)} jobs would be submitted, from {checkout['base'][:12]}"]))
        return
    body: dict[str, Any] = {key: checkout[key] for key in ("repo", "base", "profile")}
    body |= {"tests": tests, "pytest_args": rest, "priority": priority}
    answer = client.post("/v1/submit", body, timeout=SUBMIT_SECONDS)
    batch = answer["batch"]
    if wait:
        here.note(f"batch {batch}: {answer['jobs']} jobs")
        waiting.wait(ctx, batch)
    here.show(answer, batch)
    here.note(f"{answer['jobs']} jobs; `supervisorctl follow {batch}` shows how they go")


def _from_root(path: str, root: Path) -> str:
    """A path, or a node id, as it is called from the root of the repository."""
    name, sep, inside = path.partition("::")
    real = Path(os.path.realpath(name))
    if not real.exists():
        raise NoSuchThing(f"there is no {name}", hint=f"paths are relative to here, {Path.cwd()}")
    if not real.is_relative_to(root):
        raise NoSuchThing(f"{name} is not in the repository {root}", hint="say which one with --repo")
    return f"{real.relative_to(root)}{sep}{inside}"
