"""A branch that is made again on another commit, from the command line."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from supervisor.control.desk import NoBranches
from supervisor.control.server import serving
from supervisor.model.batch import Batch
from tests.agent_clone import git
from tests.cli.running import ctl
from tests.cli.test_verbs import TESTS
from tests.control.served import served


class Elsewhere(NoBranches):
    """A branch that takes a while."""

    def __init__(self) -> None:
        self.asked = list[tuple[str, str]]()

    async def onto(self, batch: Batch, sha: str) -> dict[str, Any]:
        self.asked.append((batch.id, sha))
        if len(self.asked) == 1:
            return {"state": "working"}
        left = [{"job": f"{batch.id}.1", "ledger": "conflict", "detail": "conflicts in app.py with the base"}]
        told = {"branch": f"supervisor/{batch.id}-onto-1", "left": left, "problems": [], "notes": ["a note"]}
        return {"state": "done", "changed": True, **told}


async def test_integrate_onto_waits_for_the_branch_and_says_what_is_not_on_it(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch, elsewhere = await api.submit(*TESTS), Elsewhere()
        head = git(api.repo, "rev-parse", "HEAD")
        socket = tmp_path / "other.sock"
        async with serving(replace(api.desk, branches=elsewhere), socket):
            done = await ctl(tmp_path, "--socket", str(socket), "integrate", batch, "--onto", "HEAD")
            unknown = await ctl(tmp_path, "--socket", str(socket), "integrate", batch, "--onto", "nowhere")
        assert elsewhere.asked == [(batch, head), (batch, head)]
        assert (done.code, done.out.strip()) == (1, f"supervisor/{batch}-onto-1")
        assert f"{batch}.1 conflict: conflicts in app.py with the base" in done.err
        unknown.refused(4, "nowhere is not a commit of")
