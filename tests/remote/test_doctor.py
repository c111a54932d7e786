"""`doctor` looks whether ssh hosts can verify what is made there."""

import os
from pathlib import Path

import pytest

from supervisor.adapters.mngr.ssh_hosts import looked_at
from supervisor.settings import Settings
from tests.remote.sshd import PROVIDER, boxes

pytestmark = pytest.mark.real


def test_hosts_that_can_verify_that_cannot_and_that_do_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = {"name": "far", "provider": PROVIDER, "hosts": ["box1", "box2"]}
    settings = Settings.model_validate(
        {"state_dir": tmp_path / "state", "pools": [pool], "mngr": {"home": tmp_path / "home"}}
    )
    with boxes(tmp_path / "ssh", settings.mngr_home, "box1", "box2") as (box1, box2):
        assert [(each.host, each.missing, each.unseen) for each in looked_at(settings)] == [
            ("box1", "", ""),
            ("box2", "", ""),
        ]
        box1.stop()
        box2.stop()
        (tmp_path / "old").mkdir()
        (tmp_path / "old" / "python3").write_text("#!/bin/sh\necho 3 9\n")
        (tmp_path / "old" / "python3").chmod(0o755)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", f"{tmp_path / 'old'}:{os.environ['PATH']}")
            box2.start()
        left, right = looked_at(settings)

    assert left.unseen
    assert right.missing == "a python3 of 3.11 or newer"
