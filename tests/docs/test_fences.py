"""What the documentation shows can be used as it stands."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

from supervisor.settings import load, resolve
from tests.docs.fences import Fence, fences

NOT_RUN = re.compile(r"\(not run: .+\)")
#: other names of a shell would escape from being run
SHELLS = ("sh", "bash", "shell", "console", "zsh", "")


@pytest.mark.parametrize("fence", fences(*SHELLS), ids=str)
def test_a_shell_block_is_run_or_says_why_not(fence: Fence) -> None:
    assert fence.is_run or (fence.language == "sh" and NOT_RUN.fullmatch(fence.said)), fence.language + fence.said


@pytest.mark.parametrize("fence", fences("toml"), ids=str)
def test_a_configuration_can_be_used(fence: Fence, tmp_path: Path) -> None:
    if fence.said:
        tomllib.loads(fence.text)
        return
    path = tmp_path / "config.toml"
    path.write_text(fence.text)
    settings = load(path)
    for name in settings.profiles:
        resolve(settings, name)


@pytest.mark.parametrize("fence", fences("json"), ids=str)
def test_json_is_json(fence: Fence) -> None:
    json.loads(fence.text)


@pytest.mark.parametrize("fence", fences("python"), ids=str)
def test_python_is_python(fence: Fence) -> None:
    ast.parse(fence.text)
