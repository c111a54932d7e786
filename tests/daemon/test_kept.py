"""No agent is destroyed whose work is not safe, also where agents are not to be kept."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.git.store import GitStore
from supervisor.model import event as ev
from supervisor.model.ledger import Fate, LedgerRow
from tests.daemon.box import agents_in_mngr
from tests.daemon.crash import CrashBox

pytestmark = pytest.mark.proof

#: more than a publication may hold
LARGE = "head -c 110000000 /dev/urandom >large && git add large && git commit -qm '[FIX_IMPL] Large'"
OUTCOME = json.dumps({"schema_version": 1, "changes": {"FIX_IMPL": {"status": "SUCCEEDED", "summary_markdown": ""}}})


def worked(folder: Path, script: str, **profile: Any) -> CrashBox:
    """A batch of one job, whose agent does this."""
    box = CrashBox(folder, jobs=1, profile={"command": ["sh", "-c", script], "retries": 0, **profile})
    box.run()
    return box


def rescued(box: CrashBox) -> ev.WorkRescued:
    [found] = [event for event in box.events() if isinstance(event, ev.WorkRescued)]
    return found


def ledger(box: CrashBox) -> LedgerRow:
    [ended] = [event for event in box.events() if isinstance(event, ev.IntegrationEnded)]
    return ended.ledger[1]


def shown(box: CrashBox, what: str) -> str:
    bare = GitStore(box.state_dir).bare(box.folder / "repo")
    argv = ["git", "-C", str(bare), "cat-file", "-p", f"refs/supervisor/batch/1/rescued/1:{what}"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def test_an_agent_whose_work_can_not_all_be_taken_is_kept_and_named(tmp_path: Path) -> None:
    box = worked(tmp_path, "git init -q nested && echo theirs >nested/it && echo mine >mine; exit 1")

    assert shown(box, "mine") == "mine\n"
    found, row = rescued(box), ledger(box)
    assert found.unsaved == "the nested repository in nested/"
    assert (Path(found.clone) / "nested" / "it").read_text() == "theirs\n"
    [kept] = agents_in_mngr(box.state_dir)
    known = json.loads(kept.read_text())
    assert known["labels"]["supervisor_kept"] == "unsaved"
    assert row.fate is Fate.RESCUED
    assert "refs/supervisor/batch/1/rescued/1" in row.detail
    assert f"the agent {known['name']} is kept (its clone is {found.clone})" in row.detail


TOLD = f'folder=$(dirname "$SUPERVISOR_OUTCOME"); echo \'{OUTCOME}\' >"$SUPERVISOR_OUTCOME"'
SMALL = "echo 1 >small && git add small && git commit -qm '[FIX_IMPL] Small'"


@pytest.mark.parametrize(
    ("work", "publish"),
    [
        (LARGE, 'sh -c "$SUPERVISOR_PUBLISH"'),
        (LARGE, 'sed s/104857600/999999999/ "$folder/publish" >"$folder/more" && sh "$folder/more"'),
        (SMALL, 'cd "$folder" && echo "{}" >meta.json && tar -cf p outcome.json meta.json && mv p published.tar'),
    ],
    ids=["the tool refuses it", "a tool that was changed publishes it", "one that leaves it out"],
)
def test_work_that_is_not_accepted_as_published_is_rescued(tmp_path: Path, work: str, publish: str) -> None:
    """Never does it count as no work."""
    box = worked(tmp_path, f"{work}; {TOLD}; {publish}")

    assert (rescued(box).commits, rescued(box).unsaved) == (1, "")
    assert ledger(box).fate is Fate.RESCUED
    assert "refs/supervisor/batch/1/rescued/1" in ledger(box).detail
    assert not agents_in_mngr(box.state_dir)


def test_an_agent_that_was_created_without_a_word_is_rescued_before_it_goes(tmp_path: Path) -> None:
    """mngr never answered, so its launch counts as failed; meanwhile it has done its job."""
    box = CrashBox(tmp_path, jobs=1, settings={"create_timeout_seconds": 6, "list_seconds": 2})
    box.goes_wrong({"verb": "create", "do": "hang-after", "nth": [1]})

    box.run()

    assert box.check() == {"improved": 1}
    released = [event for event in box.events() if isinstance(event, ev.AgentReleased)]
    assert (released[0].attempt, released[0].commits, released[0].unsaved) == (1, 1, "")
    assert shown(box, "note-batch.1") == "batch.1 by 1\n"
