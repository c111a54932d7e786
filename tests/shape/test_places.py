"""Nothing that is kept names a machine, or the host that packages were fetched from."""

import re

import pytest

from tests.shape.sources import kept, read

#: of people's and build machines' file systems
PLACES = re.compile(r"(?<![\w.$}~])/(?:home/(?!agent/|user/|me/|ann/)\w[\w.-]*|Users/\w[\w.-]*|root|work|workspace)/")
#: lock files hold hashes, and the index is left to the machine's own configuration
INDEXES = re.compile(
    r"files\.pythonhosted\.org|pypi\.org/simple|(?<!emit-)index-url\s*[= ]\s*\S|artifactory|://nexus", re.I
)
#: this one must name what it looks for
LOOKING = "tests/shape/test_places.py"


def found(pattern: re.Pattern[str]) -> list[str]:
    texts = ((path, read(path)) for path in kept() if path != LOOKING)
    return [f"{path}: {match[0]}" for path, text in texts for match in pattern.finditer(text)]


def test_no_file_names_a_machines_path() -> None:
    assert found(PLACES) == []


def test_no_file_names_a_package_index() -> None:
    assert found(INDEXES) == []


@pytest.mark.parametrize("text", ["in /home/bob/x", "(/root/.cache", "cd /work/main", "/Users/ann2/x"])
def test_a_machines_path_is_recognised(text: str) -> None:
    assert PLACES.search(text)


@pytest.mark.parametrize("text", ["$HOME/work/x", "/home/user/repo", "https://host.example/root/x", "a/work/b"])
def test_what_belongs_to_no_machine_is_not_taken_for_its_path(text: str) -> None:
    assert not PLACES.search(text)
