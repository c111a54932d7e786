"""Rebuilds the branch of a batch on another commit."""

from pathlib import Path
from typing import Any

from supervisor.control.desk import Desk
from supervisor.control.naming import Meant
from supervisor.control.working import known
from supervisor.errors import GitFailed, Refused


async def onto(desk: Desk, meant: Meant, rev: str) -> dict[str, Any]:
    batch = await known(desk, meant)
    if batch is None:
        raise Refused(f"the records of batch {meant.id} are no longer kept", hint="submit the tests again")
    try:
        sha = await desk.store.resolve(Path(batch.repo), rev)
    except (GitFailed, OSError, ValueError) as failed:
        hint = "give a branch or a commit, such as main"
        raise Refused(f"{rev} is not a commit of {batch.repo}", hint=hint) from failed
    return await desk.branches.onto(batch, sha)
