"""The state diagrams in the documentation are those of the tables that the code obeys."""

import subprocess
import sys

from tests.shape.sources import ROOT


def test_the_diagrams_are_up_to_date() -> None:
    command = [sys.executable, "scripts/diagrams", "--check"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stderr
