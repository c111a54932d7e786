"""What an agent publishes comes home with the recordings of its own runs, where its clone is on this machine."""

import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.adapters.layout import PUBLISHED, Layout
from supervisor.adapters.recordings.kept import KeptRecordings
from supervisor.transcripts.redact import Redactor
from tests.publication.test_rescuing import KEY, Far, far
from tests.verification.recorded import TEST, lay

OUTCOME = {"schema_version": 1, "changes": {}, "errored": False, "blocked": None, "summary_markdown": "It is fine.",
           "tests_passing_before": True, "tests_passing_after": True, "test_runs": [], "escalations": []}  # fmt: skip


def publish(here: Far) -> None:
    """Without commits."""
    with tarfile.open(here.state / PUBLISHED, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, told in (("meta.json", {"head": ""}), ("outcome.json", OUTCOME)):
            file = here.folder / name
            file.write_text(json.dumps(told))
            tar.add(file, name)


@pytest.mark.parametrize(("provider", "names"), [("local", ["tool"]), ("far", [])])
async def test_they_are_kept_of_agents_of_this_machine(tmp_path: Path, provider: str, names: list[str]) -> None:
    async with far(tmp_path, provider) as here:
        lay(here.work)
        publish(here)
        collected = await here.collector.collect(replace(here.batch, tests=(TEST,)), here.attempt)
        assert collected.claim == "clean"
        kept = KeptRecordings(Layout(tmp_path / "state"), Redactor()).all(KEY, TEST)
        assert [(each.of, each.recording.name) for each in kept] == [("agent", name) for name in names]


async def test_nothing_about_them_holds_up_what_is_published(tmp_path: Path) -> None:
    async with far(tmp_path, "local") as here:
        lay(here.work)
        publish(here)
        place = Layout(tmp_path / "state").recordings(KEY)
        place.parent.mkdir(parents=True)
        place.write_text("a file where the folder has to be")
        collected = await here.collector.collect(replace(here.batch, tests=(TEST,)), here.attempt)
        assert collected.claim == "clean"
