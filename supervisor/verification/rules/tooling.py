"""Files that run code, or speak to programs, on the machines of people and of CI: refused whatever they hold.

They are known by their class, not by a list of all tools:

    hidden      a name that begins with a dot, at any depth: that is where tools keep their settings
    configured  at the root, a file that is neither a module, nor documentation, nor what was there before: a tool
                finds it by its name alone. `Makefile`, `Dockerfile` and their like are found at any depth
    packaged    what decides how a package is built, installed and started; path and entry point files
    compiled    code that nobody can read
    linked      a symbolic link, or another repository
    addressed   a text that speaks to agents
    shadowing   a module that is imported in place of another
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from configparser import Error, RawConfigParser
from pathlib import PurePosixPath

from supervisor.verification.rules.judged import Base, FileChange
from supervisor.verification.rules.places import is_documentation, is_test_path

LINK, REPOSITORY = 0o120000, 0o160000
#: `Makefile`, `Jenkinsfile`, `Dockerfile.ci`, `justfile`, `build.gradle`
_RECIPE = re.compile(
    r"(?i:[a-z]+file)|(?i:(make|docker|container|jenkins|pip|rake|gem|task|just|vagrant|proc)file)\.[\w.-]+"
    r"|BUILD|WORKSPACE|MODULE(\.bazel)?|meson\.build|build\.(rs|xml|gradle|gradle\.kts|zig|sbt|ninja)|CMakeLists\.txt"
)
_SETTINGS = {
    *(".toml", ".cfg", ".ini", ".conf", ".yml", ".yaml", ".json", ".json5", ".xml", ".gradle", ".cmake", ".mk"),
    *(".bzl", ".bazel", ".nix", ".properties", ".lua", ".bat", ".cmd", ".ps1", ".service", ".kts", ".tf"),
}
#: modules that a tool looks for at the root or beside what is packaged
_FOUND_BY_TOOLS = re.compile(r"(setup|noxfile|fabfile|dodo|sitecustomize|usercustomize|conanfile)\.py|SConstruct")
_PACKAGES = re.compile(r"(?i).*\.(egg-info|dist-info|egg|pth|egg-link)")
#: also where they are changed, and not only where they are new
_ANYWHERE = re.compile(
    r"(?i)(package|composer|deno|tsconfig.*|jsconfig|devcontainer|lerna|turbo|nx|vercel|netlify|renovate)\.json"
    r"|(docker-)?compose.*\.ya?ml|pnpm-workspace\.yaml|cargo\.toml|pom\.xml|manifest\.in|pkg-info|constraints.*\.txt"
)
_BUILT = re.compile(r"(?i).*\.(py[cod]|so(\.\d+)*|pyd|dll|dylib|exe|o|a|jar|class|whl|egg|zip|wasm|node|pyz)")
_MAGIC = ("\x7fELF", "MZ\x90", "PK\x03\x04", "\x00asm")
_TO_AGENTS = re.compile(
    r"(?i)(claude|agents?|gemini|copilot.*|cursor.*|windsurf.*|qwen|warp|crush|cline.*|aider.*|skill)(\.local)?\.(md|mdc|txt)"
)
#: of a project's own table: what it says of itself, and nothing that is installed or run
_SPOKEN = {
    *("name", "version", "description", "readme", "urls", "authors", "maintainers", "keywords", "classifiers"),
    *("license", "license-files"),
}


#: tools that run nothing of what their settings name
_READERS = {"ruff", "black", "isort", "pyright", "codespell", "docformatter", "towncrier", "pytest"}


def why_not(change: FileChange, test: str, base: Base) -> str:
    """What this file does that no work on a test may do; "" if it may be judged by its content."""
    place = PurePosixPath(change.path)
    linked = {LINK: "a symbolic link", REPOSITORY: "another repository"}
    if change.mode_after in linked:
        return f"makes {change.path} {linked[change.mode_after]}"
    if any(part.startswith(".") for part in place.parts):
        return f"edits {change.path}, where tools keep their settings"
    if any(map(_PACKAGES.fullmatch, place.parts)) or (change.after is not None and _is_built(change)):
        return (
            f"adds {change.path}, which nobody can read"
            if _is_built(change)
            else f"edits {change.path}, which is read when Python starts or installs"
        )
    if _TO_AGENTS.fullmatch(place.name):
        return f"edits {change.path}, which speaks to agents"
    if part := next(_packaging(change), ""):
        return f"changes {part} in {change.path}, which is run where it is built or installed"
    if place.name not in ("pyproject.toml", "setup.cfg", "tox.ini") and _is_found_by_tools(change, test):
        return f"edits {change.path}, which a tool runs that finds it by its name"
    return (
        f"adds {change.path}, which is imported in place of {shadowed}"
        if (shadowed := _shadowed(change, test, base))
        else ""
    )


def _is_built(change: FileChange) -> bool:
    place = PurePosixPath(change.path)
    text = change.after or ""
    return bool(_BUILT.fullmatch(place.name)) or text.startswith(_MAGIC)


def _is_found_by_tools(change: FileChange, test: str) -> bool:
    place = PurePosixPath(change.path)
    if is_test_path(change.path, test):
        return False
    if _RECIPE.fullmatch(place.name) or _ANYWHERE.fullmatch(place.name):
        return True
    if "requirements" in place.parts[:-1] and place.suffix in (".txt", ".in"):
        return True
    at_root = len(place.parts) == 1
    if _FOUND_BY_TOOLS.fullmatch(place.name):
        return at_root or place.name == "setup.py"
    is_data = change.before is not None and place.suffix in (".json", ".ini", ".conf", ".xml", ".properties")
    return at_root and place.suffix in _SETTINGS and not is_data and not is_documentation(change.path)


# --- packaging


def _packaging(change: FileChange) -> Iterator[str]:
    """What an installation runs or fetches, where it is another than before."""
    name = PurePosixPath(change.path).name
    if name not in ("pyproject.toml", "setup.cfg", "tox.ini"):
        return
    read = _toml if name == "pyproject.toml" else _ini
    before, after = read(change.before or ""), read(change.after or "")
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            yield f"[{key}]"


def _toml(text: str) -> Mapping[str, str]:
    """Everything but what a project says of itself, and the settings of pytest, which have a rule of their own."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    found = {}
    for name, value in table.items():
        inner = value if isinstance(value, dict) else {"": value}
        for key, each in inner.items():
            if not (name == "tool" and key in _READERS) and (name != "project" or key not in _SPOKEN):
                found[f"{name}.{key}".rstrip(".")] = repr(each)
    return found


def _ini(text: str) -> Mapping[str, str]:
    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except Error:
        return {}
    ours = ("metadata", "pytest", "tool:pytest", "DEFAULT")
    # a section that says nothing does nothing
    return {name: repr(sorted(section.items())) for name, section in parser.items() if name not in ours and section}


# --- what is imported in place of something else

_RUNNERS = {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "coverage", "hypothesis", "setuptools", "pip"}
#: where Python looks for names, beside the folders of tests
_IMPORT_FOLDERS = (".", "src", "lib", "python")


def _shadowed(change: FileChange, test: str, base: Base) -> str:
    """Of a module that is new: which other one its name stood for."""
    place = PurePosixPath(change.path)
    if change.before is not None or change.after is None or place.suffix != ".py":
        return ""
    name, folder = _module(place, base.paths)
    if name in ("__main__", "conftest") or not (folder in _IMPORT_FOLDERS or is_test_path(change.path, test)):
        return ""
    known = {(each, _module(PurePosixPath(each), base.paths)) for each in base.paths if each.endswith(".py")}
    if same := [path for path, module in known if module == (name, folder)]:
        return f"`{name}`" if all(path.startswith(f"{place.with_suffix('')}/") for path in same) else ""
    if name in sys.stdlib_module_names or name in _RUNNERS:
        return f"`{name}`"
    elsewhere = sorted(path for path, module in known if module[0] == name)
    packages = [path for path in elsewhere if path.endswith(f"{name}/__init__.py")]
    if packages or _is_imported(name, base):
        return next(iter(packages or elsewhere), f"the `{name}` that is installed")
    return ""


def _is_imported(name: str, base: Base) -> bool:
    return bool(re.search(rf"^\s*(?:import|from)\s+{re.escape(name)}\b", base.text, re.MULTILINE))


def _module(place: PurePosixPath, paths: frozenset[str]) -> tuple[str, str]:
    """The top name that the file is imported by, and the folder in which Python finds that."""
    top = place.parent if place.name == "__init__.py" else place
    while f"{top.parent}/__init__.py" in paths:
        top = top.parent
    return top.stem if top.suffix == ".py" else top.name, str(top.parent)
