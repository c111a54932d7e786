"""`plan`: what a batch would come to, before anything is spent."""

from pathlib import Path
from typing import Annotated

import typer

from supervisor.cli import choices, session, wanting
from supervisor.cli.wanting import Select, Unit, Wish

SLOTS = typer.Option(
    min=1, metavar="N", help="Slots for agents; default: those of the profile's pools.", show_default=False
)


def plan(
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
    slots: Annotated[int | None, SLOTS] = None,
    allow_dirty: Annotated[bool, wanting.DIRTY] = False,
) -> None:
    """Say what a batch would cost and how long it would take: jobs, tokens, hours, advised slots. Submits nothing.

    Example: supervisorctl plan tests --select changed --slots 8
    """
    here, wish = session.of(ctx), Wish(select, since, limit, sample, seed)
    rest = list(ctx.meta.get("rest", []))
    asked = wanting.wanted(here, paths, rest, wish, repo=repo, profile=profile, per=per, allow_dirty=allow_dirty)
    found = asked.plan(here, **({"slots": slots} if slots else {}))
    here.show(found | {"per": asked.unit}, "\n".join(choices.summary(asked, found)))
