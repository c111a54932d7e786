"""Detects that a run imports, or that its subprocesses would import, code from the user's own checkout.

An editable install points there. With it, broken work in an agent's checkout would be verified, and a repair there
would not be seen.
"""

from collections.abc import Iterator
from pathlib import Path

from supervisor.verification.trials.reports import Session

MEND = (
    'give the profile `setup = "python -m venv .venv && .venv/bin/pip install -e ."` with '
    '`pytest = [".venv/bin/python", "-m", "pytest"]`, or the folder to import from, such as `python_path = ["src"]`'
)


def stray_import(session: Session, repo: Path, checkout: Path) -> str:
    """The finding in one sentence; "" if there is none."""
    found = next(_strays(session, repo.resolve(), checkout.resolve()), "")
    return f"{found}, not from the checkout under trial: {MEND}" if found else ""


def _strays(session: Session, repo: Path, checkout: Path) -> Iterator[str]:
    for name, file in session.foreign.items():
        if _is_stray(Path(file), repo, checkout):
            yield f"its tests import {name} from {file}"
    paths = [Path(each) for each in session.paths if each.startswith("/")]
    for place, path in enumerate(paths):
        if _is_stray(path, repo, checkout) and _counterpart(path, repo, checkout) not in paths[:place]:
            yield f"its Python looks for modules in {path}"
    for name, file in session.editables.items():
        path = Path(file)
        if _is_stray(path, repo, checkout) and _counterpart(path.parent, repo, checkout) not in paths:
            yield f"its Python finds {name} in {path}"


def _is_stray(path: Path, repo: Path, checkout: Path) -> bool:
    """A virtual environment in the user's checkout is not under trial."""
    real = path.resolve()
    if not real.is_relative_to(repo) or real.is_relative_to(checkout):
        return False
    return not {"site-packages", "dist-packages"} & set(real.parts) and not _in_environment(real, repo)


def _in_environment(path: Path, repo: Path) -> bool:
    inside = [each for each in (path, *path.parents) if each.is_relative_to(repo)]
    return any((each / "pyvenv.cfg").exists() for each in inside)


def _counterpart(path: Path, repo: Path, checkout: Path) -> Path:
    return checkout / path.resolve().relative_to(repo)
