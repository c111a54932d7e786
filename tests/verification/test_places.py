"""What a path is, and which files are refused whatever they hold."""

import pytest

from supervisor.model.denied import DENIED
from supervisor.verification.rules.judged import EXECUTABLE, FILE, Base, FileChange
from supervisor.verification.rules.places import Allowed, is_test_path, kind_of, part_of
from supervisor.verification.rules.policy import breaches, may_edit
from supervisor.verification.rules.tooling import LINK, REPOSITORY

TEST = "tests/e2e/test_it.py::test_one"


@pytest.mark.parametrize(
    ("test", "path", "is_test"),
    [
        (TEST, "tests/e2e/stock.json", True),
        (TEST, "app/core.py", False),
        ("app/tests.py::test_one", "app/tests.py", True),
        ("app/tests.py::test_one", "app/core.py", False),
        ("app/core_test.py::test_one", "app/core_test.py", True),
        ("app/core_test.py::test_one", "app/core.py", False),
        ("core_test.py::test_one", "core.py", False),
        ("testing/test_one.py::test_one", "testing/plugins.py", True),
        (TEST, "app/testing/public.py", False),
        ("e2e/test_it.py::test_one", "e2e/stock.json", True),
    ],
)
def test_tests_are_known_by_their_names_and_folders(test: str, path: str, is_test: bool) -> None:
    assert is_test_path(path, test) == is_test


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("README.md", "documentation"),
        ("CHANGELOG.txt", "documentation"),
        ("LICENSE", "documentation"),
        ("docs/guide.txt", "documentation"),
        ("docs/conf.py", "implementation"),
        ("app/README.md", "documentation"),
        ("app/help.txt", "implementation"),
        ("app/templates/mail.md", "implementation"),
        ("words.txt", "implementation"),
        ("tutorial.sh", "tutorial"),
    ],
)
def test_a_text_beside_code_is_no_documentation(path: str, part: str) -> None:
    assert part_of(path, TEST) == part
    assert (kind_of("DOC", [path], TEST) == "DOC") == (part == "documentation")


def rules(change: FileChange, allowed: Allowed | None = None, base: Base | None = None) -> list[str]:
    return [each.rule for each in breaches([change], TEST, allowed or Allowed(deny=DENIED), (), base)]


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".mcp.json",
            ".claude/settings.json",
            "docs/.vscode/tasks.json",
            ".travis.yml",
            ".envrc",
            ".husky/pre-commit",
        ),
        *(
            "Makefile",
            "sub/Dockerfile",
            "Dockerfile.dev",
            "Jenkinsfile.x",
            "justfile",
            "Taskfile.yml",
            "CMakeLists.txt",
        ),
        *("package.json", "web/package.json", "noxfile.py", "setup.py", "mkdocs.yml", "compose.yaml", "build.rs"),
        *("x.egg-info/entry_points.txt", "x-1.dist-info/METADATA", "x.pth", "app/x.pyc", "app/x.so", "app/x.zip"),
        *("CLAUDE.md", "app/AGENTS.md", "requirements/dev.txt"),
    ],
)
def test_what_runs_or_speaks_on_peoples_machines_is_refused_whatever_it_holds(path: str) -> None:
    assert rules(FileChange(path, None, "x")) == ["tooling"]
    assert not may_edit(path, Allowed(deny=DENIED))
    assert rules(FileChange(path, None, "x"), Allowed(allow=("**",), deny=DENIED)) == ["tooling"]
    assert rules(FileChange(path, None, "x"), Allowed(allow=(path,), deny=DENIED)) == []


@pytest.mark.parametrize(
    "path", ["app/config.json", "app/profile.py", "profile.ts", "app/json.py", "tests/data/Makefile", "config.json"]
)
def test_what_a_program_and_its_tests_read_is_not(path: str) -> None:
    assert rules(FileChange(path, "x", "y"), base=Base("", frozenset({"app/__init__.py"}))) == []


def test_links_and_repositories_are_refused_by_their_mode() -> None:
    assert rules(FileChange("data", None, "/etc", 0, LINK)) == ["tooling"]
    assert rules(FileChange("vendor", None, "", 0, REPOSITORY)) == ["tooling"]
    assert rules(FileChange("bin/app", "x", "x", FILE, EXECUTABLE)) == []


PROJECT = '[build-system]\nrequires = []\n[project]\nname = "a"\nversion = "1"\n[tool.ruff]\nline-length = 9\n'


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('version = "1"', 'version = "2"', []),
        ("line-length = 9", "line-length = 99", []),
        ("requires = []", 'requires = ["evil"]', ["tooling"]),
        ('version = "1"', 'version = "1"\ndependencies = ["evil"]', ["tooling"]),
        ('version = "1"', 'version = "1"\n[project.scripts]\nls = "a:b"', ["tooling"]),
        ("[tool.ruff]", "[tool.hatch.build.hooks.custom]\n[tool.ruff]", ["tooling"]),
    ],
)
def test_a_project_may_say_otherwise_what_it_is_and_not_how_it_is_installed(
    old: str, new: str, found: list[str]
) -> None:
    assert rules(FileChange("pyproject.toml", PROJECT, PROJECT.replace(old, new))) == found


@pytest.mark.parametrize(
    ("path", "is_shadow"),
    [
        ("tests/subprocess.py", True),
        ("pluggy.py", True),
        ("tests/app/__init__.py", True),
        ("src/app/__init__.py", True),
        ("app/json.py", False),
        ("app/more.py", False),
        ("tests/asking.py", False),
        ("tests/requests.py", True),
        ("scripts/run.py", False),
    ],
)
def test_a_module_in_place_of_another_is_refused(path: str, is_shadow: bool) -> None:
    base = Base(
        "import requests\n", frozenset({"app/__init__.py", "app/core.py", "tests/test_it.py", "bench/run.py"})
    )
    assert rules(FileChange(path, None, ""), base=base) == ["tooling"] * is_shadow
