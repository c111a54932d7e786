"""The example in the help of each tutorial tool; those of all other verbs are run in tests/cli/test_help.py."""

import re

import pytest

from supervisor.e2e import E2e, expect

EXAMPLE = re.compile(r"Example: +(supervisorctl .*)")


@pytest.mark.parametrize("verb", ["blocks", "check", "view", "fill", "sync", "install-command"])
def test_the_example_can_be_run(e2e: E2e, idle: None, verb: str) -> None:
    """As it stands in the help, in the checkout.

    Tutorial block:
        # every verb explains itself, with an example
        supervisorctl submit --help
    """
    shown = e2e.run(f"supervisorctl tutorial {verb} --help", comment="what is the example?")
    expect(shown).to_succeed().stdout.to_match(EXAMPLE)
    if verb == "view":
        e2e.run("PYTEST_PLUGINS=supervisor.e2e.plugin pytest tests/e2e --e2e-dir results", comment="a run to look at")
    [example] = EXAMPLE.findall(shown.stdout)
    expect(e2e.run(example)).to_succeed()
