"""The data policy of a repository, over the API and in the configuration."""

from pathlib import Path

import pytest

from supervisor.model.policy import Policy
from supervisor.settings import load, policy_for
from tests.cli.running import ctl
from tests.control.served import served
from tests.waiting import until

TEXT = """
[policy."/srv"]
providers = ["local", "ssh-*"]
accounts = ["claude"]
models = ["*"]
[policy."/srv/open"]
providers = ["*"]
accounts = ["*"]
models = ["*"]
"""


@pytest.mark.parametrize(
    ("repo", "folder"),
    [("/srv/app", "/srv"), ("/srv", "/srv"), ("/srv/open/x", "/srv/open"), ("/srvx", None), ("/home/ann/app", None)],
)
def test_the_innermost_folder_counts(tmp_path: Path, repo: str, folder: str | None) -> None:
    (tmp_path / "c.toml").write_text(TEXT)
    found = policy_for(load(tmp_path / "c.toml").policy, repo)
    assert (found.repository if found is not None else None) == folder


def test_what_is_not_named_is_denied(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[policy."/"]\n')
    assert policy_for(load(tmp_path / "c.toml").policy, "/srv/app") == Policy("/")


async def test_a_key_that_there_is_not_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[policy."/srv"]\nprovider = ["local"]\n')
    (await ctl(tmp_path, "config", "check", "c.toml")).refused(2, "policy./srv.provider is not a key")
    (tmp_path / "c.toml").write_text('[policy."srv"]\n')
    (await ctl(tmp_path, "config", "check", "c.toml")).refused(2, "is not an absolute path")


async def test_a_submission_is_refused_before_tests_are_collected(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        denied = Policy("/srv", providers=("local",), accounts=("work",), models=("*",))
        object.__setattr__(api.desk, "policy", lambda repo: denied)
        refused = await ctl(tmp_path, "submit", cwd=api.repo)
        refused.refused(4, "to the account claude, but the policy of /srv allows the accounts work")
        assert not api.loop.state.batches


async def test_neither_is_a_retry_after_the_policy_changed(tmp_path: Path) -> None:
    async with served(tmp_path, slots=1) as api:
        batch = await api.submit("tests/test_it.py::test_one")
        await ctl(tmp_path, "cancel", batch)
        await until("it is sealed", lambda: batch not in api.loop.state.batches)
        object.__setattr__(api.desk, "policy", lambda repo: Policy("/srv"))
        (await ctl(tmp_path, "retry", batch)).refused(4, "the policy of /srv allows no providers")
