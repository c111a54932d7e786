"""`submit`: check the checkout, collect its tests, send them to the daemon."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from supervisor.cli import collecting, session, waiting
from supervisor.cli.surroundings import Surroundings
from supervisor.errors import NoSuchThing

#: the daemon copies the repository before it answers
SUBMIT_SECONDS = 1800.0

Unit = Literal["function", "case", "file", "class"]

PATHS = typer.Argument(
    metavar="PATHS",
    help="What to collect, as for pytest; arguments after -- go to pytest.",
    show_default=False,
)


def submit(
    ctx: typer.Context,
    paths: Annotated[list[str] | None, PATHS] = None,
    repo: Annotated[Path, typer.Option(metavar="DIR", help="A checkout of the repository.")] = Path(),
    profile: Annotated[str, typer.Option(help="The profile that agents work by; see `config show`.")] = "default",
    per: Annotated[Unit | None, typer.Option(help="Make one job per unit; default: the profile's.")] = None,
    priority: Annotated[int, typer.Option(min=-1000, max=1000, help="Higher runs first.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be submitted.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is over; for exit codes see `wait`.")] = False,
    allow_dirty: Annotated[bool, typer.Option("--allow-dirty", help="Submit without the uncommitted work.")] = False,
) -> None:
    """Put an agent on every collected test: one job per function, with all its cases. Prints the batch id.

    Example: supervisorctl submit tests --dry-run -- -k test_one
    """
    here = session.of(ctx)
    client, rest = here.client, list(ctx.meta.get("rest", []))
    asked = {"repo": os.path.realpath(repo), "profile": profile, "allow_dirty": str(allow_dirty).lower()}
    checkout = client.get("/v1/checkout", **asked)
    root = Path(checkout["repo"])
    wanted = [_from_root(path, root) for path in paths or []]
    unit, limit, around = per or checkout["per"], checkout["timeout_seconds"], Surroundings(root)
    words = [*wanted, *rest]
    found = collecting.collect(root, checkout["pytest"], words, unit, timeout=limit, around=around)
    around.check(checkout["pytest"], has_setup=checkout["has_setup"])
    python_path = _python_path(checkout, around)
    for note in around.notes(python_path):
        here.note(note)
    if around.coverage:
        rest.append("--cov-fail-under=0")
    if dry_run:
        data = {"schema_version": 1, "batch": None, "jobs": len(found.tests), "changed": False}
        said = f"{_counted(found, unit)} would be submitted, from {checkout['base'][:12]}"
        here.show(data | {"per": unit, "tests": found.tests, "cases": found.cases}, "\n".join([*_lines(found), said]))
        return
    body = {key: checkout[key] for key in ("repo", "base", "profile")}
    body |= {"tests": found.tests, "cases": found.cases, "per": unit, "pytest_args": rest, "priority": priority}
    answer = client.post("/v1/submit", body | {"python_path": list(python_path)}, timeout=SUBMIT_SECONDS)
    batch = answer["batch"]
    if wait:
        here.note(f"batch {batch}: {_counted(found, unit)}")
        waiting.wait(ctx, batch)
    here.show(answer, batch)
    here.note(f"{_counted(found, unit)}; `supervisorctl follow {batch}` shows their progress")


def _counted(found: collecting.Collected, unit: str) -> str:
    jobs, cases = len(found.tests), sum(found.cases)
    said = "1 job" if jobs == 1 else f"{jobs} jobs"
    return said if cases == jobs else f"{said} from {cases} cases (one per {unit})"


def _lines(found: collecting.Collected) -> list[str]:
    pairs = zip(found.tests, found.cases, strict=True)
    return [test if cases == 1 else f"{test}  ({cases} cases)" for test, cases in pairs]


def _python_path(checkout: dict[str, Any], around: Surroundings) -> tuple[str, ...]:
    """The profile's folders override those that were detected; a profile with a setup needs none detected."""
    return tuple(checkout["python_path"]) or (() if checkout["has_setup"] else around.python_path)


def _from_root(path: str, root: Path) -> str:
    """A path or node id, rewritten relative to the root of the repository."""
    name, sep, inside = path.partition("::")
    real = Path(os.path.realpath(name))
    if not real.exists():
        raise NoSuchThing(f"{name} does not exist", hint=f"paths are relative to {Path.cwd()}")
    if not real.is_relative_to(root):
        raise NoSuchThing(f"{name} is not in the repository {root}", hint="name its repository with --repo")
    return f"{real.relative_to(root)}{sep}{inside}"
