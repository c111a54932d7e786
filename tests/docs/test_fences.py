"""What the documentation shows can be used as it stands."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

from supervisor.settings import load, resolve
from tests.docs.fences import PAGES, Fence, fences
from tests.shape.sources import ROOT, read

NOT_RUN = re.compile(r"\(not run: .+\)")
#: in the repositories of readers
OF_READERS = (
    "tests/e2e",
    "tests/unit",
    "docs/printer.md",
    "supervisor/k3f9x",
    "supervisor/work",
    "supervisor/BATCH",
    "supervisor/vgs9p",
)
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


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_is_named_is_there(page: str) -> None:
    """Of the repository: a test that shows what a page says, a folder with examples. NAME is any."""
    named = set(re.findall(r"(?<![\w/.{-])(?:supervisor|tests|scripts|config|docs|bench)/[\w/.*-]*\w", read(page)))
    own = {path for path in named if not path.startswith(OF_READERS)}
    assert sorted(path for path in own if not any(ROOT.glob(path.replace("NAME", "*")))) == []


@pytest.mark.parametrize("fence", fences("json"), ids=str)
def test_json_is_json(fence: Fence) -> None:
    json.loads(fence.text)


@pytest.mark.parametrize("fence", fences("python"), ids=str)
def test_python_is_python(fence: Fence) -> None:
    ast.parse(fence.text)
