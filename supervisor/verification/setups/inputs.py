"""The inputs that decide what a setup leaves: its command, its environment, the tool chain, and checkout files."""

import hashlib
import os
import platform
import shlex
import shutil
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from supervisor.launch.orders import CREDENTIAL
from supervisor.model.batch import Batch
from supervisor.verification.trials.running import PASSED_ON

#: Files from which installers decide what to install; a name without a slash matches at any depth.
LOCKS = (
    *("uv.lock", "uv.toml", "poetry.lock", "poetry.toml", "pdm.lock", "pylock*.toml", "Pipfile", "Pipfile.lock"),
    *("requirements*.txt", "requirements*.in", "constraints*.txt", "pyproject.toml", "setup.py", "setup.cfg"),
    *("environment*.yml", "environment*.yaml", "conda-lock.yml", "pixi.lock", "pixi.toml", ".python-version"),
    *("package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml"),
    *("yarn.lock", ".yarnrc", ".yarnrc.yml", ".npmrc", "bun.lock", "bun.lockb", ".nvmrc", ".node-version"),
    *("Cargo.toml", "Cargo.lock", "rust-toolchain*", "go.mod", "go.sum", "go.work", "go.work.sum"),
    *("Gemfile", "Gemfile.lock", ".ruby-version", "composer.json", "composer.lock", "mix.lock", "mix.exs"),
    *("flake.lock", "flake.nix", ".tool-versions", "mise.toml", "mise.lock"),
)
#: what most setups start
_TOOLS = ("python3", "python", "pip", "uv", "node", "npm", "cargo", "go", "ruby")
_LARGEST = 64 * 2**20


def surroundings(batch: Batch) -> str:
    """A hash of all inputs that are not in the checkout; "": the setup, if any, runs each time. Blocking."""
    profile = batch.profile
    if not profile.setup or profile.setup_inputs == ():
        return ""
    own = sorted((name, value) for name, value in profile.env.items() if not value.startswith(CREDENTIAL))
    passed = [(name, os.environ.get(name)) for name in PASSED_ON]
    inputs, network = profile.setup_inputs, profile.sandbox_network
    parts = (batch.repo, profile.setup, inputs, network, own, passed, list(_tools(profile.setup, profile.pytest)))
    return _hash(repr((platform.platform(), parts)).encode(errors="surrogateescape"))[:16]


def _tools(setup: str, pytest: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """The programs that the setup names, as they are now."""
    try:
        words = shlex.split(setup)
    except ValueError:
        words = setup.split()
    for word in dict.fromkeys((*words, *pytest[:1], *_TOOLS)):
        if (found := shutil.which(word)) is not None:
            place = os.path.realpath(found)
            yield place, Path(place).stat().st_mtime_ns, Path(place).stat().st_size


def files_of(checkout: Path, patterns: Sequence[str]) -> str:
    """A hash of the files that decide, and of all links. Blocking."""
    whole = hashlib.sha256()
    for path in sorted(_deciding(checkout, patterns)):
        whole.update(f"{path}\0{state_of(checkout / path)}\n".encode(errors="surrogateescape"))
    return whole.hexdigest()[:32]


def _deciding(checkout: Path, patterns: Sequence[str]) -> Iterator[str]:
    for folder, folders, files in os.walk(checkout):
        folders[:] = [each for each in folders if each != ".git"]
        for name in (*files, *folders):
            path = os.path.relpath(os.path.join(folder, name), checkout)  # noqa: PTH118
            if Path(checkout, path).is_symlink() or (name in files and _matches(path, patterns)):
                yield path


def _matches(path: str, patterns: Sequence[str]) -> bool:
    name = PurePosixPath(path).name
    return any(fnmatchcase(path if "/" in each else name, each) for each in patterns)


def state_of(path: Path) -> str:
    """The state of a file (content, and whether it can be executed), of a folder (names) or of a link (target)."""
    try:
        if path.is_symlink():
            return f"link {path.readlink()}"
        if path.is_dir():
            return "folder " + _hash("\0".join(sorted(os.listdir(path))).encode(errors="surrogateescape"))  # noqa: PTH208
        found = path.stat()
        content = _hash(path.read_bytes()) if found.st_size <= _LARGEST else f"{found.st_size} {found.st_mtime_ns}"
        return f"file {found.st_mode & 0o111:o} {content}"
    except OSError:
        return "none"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
