"""The tests that a person wants agents on: collected in their checkout, and chosen from."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import typer

from supervisor.cli import collecting, surveying
from supervisor.cli.session import Session
from supervisor.cli.surroundings import Surroundings
from supervisor.errors import NoSuchThing

#: the daemon may have to fetch the commits that it compares
PLAN_SECONDS = 600.0

Unit = Literal["function", "case", "file", "class"]
Select = Literal["all", "failed", "red", "changed"]

PATHS = typer.Argument(
    metavar="PATHS",
    help="What to collect, as for pytest; arguments after -- go to pytest.",
    show_default=False,
)
REPO = typer.Option(metavar="DIR", help="A checkout of the repository.")
PROFILE = typer.Option(help="The profile that agents work by; see `config show`.")
PER = typer.Option(help="Make one job per unit; default: the profile's.")
DIRTY = typer.Option("--allow-dirty", help="Submit without the uncommitted work.")
SELECT = typer.Option(
    help="all, or only tests that last ended badly (failed), that fail now (red: they are run once), or that a "
    "change since may concern (changed); default: the profile's."
)
SINCE = typer.Option(
    metavar="REV", help="Only tests that a change after this commit may concern.", show_default=False
)
LIMIT = typer.Option(min=1, metavar="N", help="The first N tests, at most.", show_default=False)
SAMPLE = typer.Option(min=1, metavar="N", help="N tests by chance.", show_default=False)
SEED = typer.Option(help="Another sample; the same seed takes the same tests. Default: the commit.")


@dataclass(frozen=True, slots=True)
class Wish:
    """Which of the collected tests are wanted."""

    select: Select | None = None
    since: str = ""
    limit: int | None = None
    sample: int | None = None
    seed: str = ""

    @property
    def body(self) -> dict[str, Any]:
        said = {"select": self.select, "since": self.since, "limit": self.limit, "sample": self.sample}
        return {key: value for key, value in {**said, "seed": self.seed}.items() if value}


@dataclass(slots=True)
class Wanted:
    checkout: dict[str, Any]
    unit: str
    found: collecting.Collected
    rest: list[str]
    python_path: tuple[str, ...]
    wish: Wish
    passing: list[str] = field(default_factory=list)

    @property
    def select(self) -> str:
        return self.wish.select or str(self.checkout.get("select", "all"))

    @property
    def is_chosen_from(self) -> bool:
        return self.select != "all" or bool(self.wish.body)

    def plan(self, here: Session, **more: Any) -> dict[str, Any]:
        """What the daemon says that it would come to."""
        body = {key: self.checkout[key] for key in ("repo", "base", "profile")}
        body |= {"tests": self.found.tests, "cases": self.found.cases, "passing": self.passing}
        return here.client.post("/v1/plan", body | self.wish.body | more, timeout=PLAN_SECONDS)


def wanted(
    here: Session,
    paths: list[str] | None,
    rest: list[str],
    wish: Wish,
    *,
    repo: Path,
    profile: str,
    per: str | None,
    allow_dirty: bool,
) -> Wanted:
    """Raises Refused if nothing is collected, or the checkout can't be a base."""
    asked = {"repo": os.path.realpath(repo), "profile": profile, "allow_dirty": str(allow_dirty).lower()}
    checkout = here.client.get("/v1/checkout", **asked)
    root = Path(checkout["repo"])
    words = [*(_from_root(path, root) for path in paths or []), *rest]
    unit, limit, around = per or checkout["per"], checkout["timeout_seconds"], Surroundings(root)
    found = collecting.collect(root, checkout["pytest"], words, unit, timeout=limit, around=around)
    around.check(checkout["pytest"], has_setup=checkout["has_setup"])
    python_path = _python_path(checkout, around)
    for note in around.notes(python_path):
        here.note(note)
    rest = [*rest, *(["--cov-fail-under=0"] if around.coverage else [])]
    made = Wanted(checkout, unit, found, rest, python_path, wish)
    if made.select == "red":
        here.note(f"running {sum(found.cases)} tests once, to see which of them fail")
        made.passing = surveying.passing(root, checkout["pytest"], words, found, seconds_each=limit)
    return made


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
