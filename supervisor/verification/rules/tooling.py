"""Files that run code or configure programs on the machines of people and CI: refused whatever they contain.

They are recognized by their class, not by a list of all tools:

    hidden      a name that begins with a dot, at any depth, as tools use for their settings
    configured  a new file at the root that is neither a module nor documentation: a tool may find it by its name.
                `Makefile`, `Dockerfile` and the like count at any depth
    packaged    whatever decides how a package is built, installed and started; path and entry point files
    compiled    code in a form that can't be reviewed
    linked      a symbolic link, or another repository
    addressed   instructions for agents
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
#: modules that a tool looks for at the root or beside a package
_FOUND_BY_TOOLS = re.compile(r"(setup|noxfile|fabfile|dodo|sitecustomize|usercustomize|conanfile)\.py|SConstruct")
_PACKAGES = re.compile(r"(?i).*\.(egg-info|dist-info|egg|pth|egg-link)")
#: refused when changed, not only when new
_ANYWHERE = re.compile(
    r"(?i)(package|composer|deno|tsconfig.*|jsconfig|devcontainer|lerna|turbo|nx|vercel|netlify|renovate)\.json"
    r"|(docker-)?compose.*\.ya?ml|pnpm-workspace\.yaml|cargo\.toml|pom\.xml|manifest\.in|pkg-info|constraints.*\.txt"
)
_BUILT = re.compile(r"(?i).*\.(py[cod]|so(\.\d+)*|pyd|dll|dylib|exe|o|a|jar|class|whl|egg|zip|wasm|node|pyz)")
_MAGIC = ("\x7fELF", "MZ\x90", "PK\x03\x04", "\x00asm")
_TO_AGENTS = re.compile(
    r"(?i)(claude|agents?|gemini|copilot.*|cursor.*|windsurf.*|qwen|warp|crush|cline.*|aider.*|skill)(\.local)?\.(md|mdc|txt)"
)
#: keys of the `project` table that only describe it: nothing is installed or run
_SPOKEN = {
    *("name", "version", "description", "readme", "urls", "authors", "maintainers", "keywords", "classifiers"),
    *("license", "license-files"),
}


#: tools whose settings can't make them run code
_READERS = {"ruff", "black", "isort", "pyright", "codespell", "docformatter", "towncrier", "pytest"}


def why_not(change: FileChange, test: str, base: Base) -> str:
    """Why work on a test may not touch this file; "" if its content decides."""
    place = PurePosixPath(change.path)
    linked = {LINK: "a symbolic link", REPOSITORY: "another repository"}
    if change.mode_after in linked:
        return f"makes {change.path} {linked[change.mode_after]}"
    if any(part.startswith(".") for part in place.parts):
        return f"edits {change.path}, where tools keep their settings"
    if any(map(_PACKAGES.fullmatch, place.parts)) or (change.after is not None and _is_built(change)):
        return (
            f"adds {change.path}, which can't be reviewed"
            if _is_built(change)
            else f"edits {change.path}, which Python reads when it starts or installs"
        )
    if _TO_AGENTS.fullmatch(place.name):
        return f"edits {change.path}, which instructs agents"
    if part := next(_packaging(change), ""):
        return f"changes {part} in {change.path}, which takes effect when the package is built or installed"
    if place.name not in ("pyproject.toml", "setup.cfg", "tox.ini") and _is_found_by_tools(change, test):
        return f"edits {change.path}, which a tool finds by its name and runs"
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
    """The changed settings that decide what an installation runs or fetches."""
    name = PurePosixPath(change.path).name
    if name not in ("pyproject.toml", "setup.cfg", "tox.ini"):
        return
    read = _toml if name == "pyproject.toml" else _ini
    before, after = read(change.before or ""), read(change.after or "")
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            yield f"[{key}]"


def _toml(text: str) -> Mapping[str, str]:
    """All settings except a project's description and the settings of pytest, which have a rule of their own."""
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
    # an empty section has no effect
    return {name: repr(sorted(section.items())) for name, section in parser.items() if name not in ours and section}


# --- shadowed modules

_RUNNERS = {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "coverage", "hypothesis", "setuptools", "pip"}
#: folders where Python looks for modules, besides those of tests
_IMPORT_FOLDERS = (".", "src", "lib", "python")


def _shadowed(change: FileChange, test: str, base: Base) -> str:
    """The module that a new module shadows; "": none."""
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
    """The top-level name by which the file is imported, and the folder where Python finds it."""
    top = place.parent if place.name == "__init__.py" else place
    while f"{top.parent}/__init__.py" in paths:
        top = top.parent
    return top.stem if top.suffix == ".py" else top.name, str(top.parent)
