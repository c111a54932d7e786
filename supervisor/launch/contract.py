"""The agent contract: an agent's identity, the command that runs its test, and the reporter of each run. Pure.

pytest arguments that select tests are dropped: a job names its own test, and a file must be run completely.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from supervisor.adapters.layout import PUBLISH
from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR
from supervisor.model.profile import Profile, Role

#: the pytest plugin that reports to the daemon
REPORTER = "supervisor_reports"
REPORTER_FILES = ("__init__.py", "raising.py", "telling.py", "watching.py")
PYTHON_PATH = "PYTHONPATH"

#: Keeps a test that uses tmux from reaching the agents' tmux server by accident.
NO_TMUX = "env -u TMUX -u TMUX_PANE"

#: options with a value that select tests by a rule
_RULES = {"-k", "-m", "--deselect", "--ignore", "--ignore-glob"}
#: options that select tests by earlier results, or stop after failures
_ORDERS = {"--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--sw", "--stepwise"}
_ORDERS |= {"--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset", "-x", "--exitfirst"}
_ORDERS_WITH_VALUE = {"--lfnf", "--last-failed-no-failures", "--maxfail"}
#: flags of pytest and its usual plugins that take no value: a word after them is a path
_FLAGS = {"-v", "-q", "-s", "-l", "-x", "-h", "-V", "--verbose", "--quiet", "--showlocals", "--no-header", "--co"}
_FLAGS |= {"--no-summary", "--strict-markers", "--strict-config", "--strict", "--no-cov", "--collect-only", "--pdb"}
_FLAGS |= {"--doctest-modules", "--full-trace", "--runxfail", "--cache-clear", "--pyargs", "--noconftest"}
_SHORT_WITH_VALUE = "kmcnporW"

type _Kind = Literal["rule", "order", "path", "other"]


def contract(batch: Batch, job: int, attempt: int, run: str) -> dict[str, str]:
    """The agent's environment variables, except for the paths in its state directory."""
    return {
        "SUPERVISOR_BATCH": batch.id,
        "SUPERVISOR_JOB": batch.job_id(job),
        "SUPERVISOR_ATTEMPT": str(attempt),
        "SUPERVISOR_ROLE": role_of(batch, job),
        "SUPERVISOR_BASE": batch.base,
        "SUPERVISOR_TEST": batch.job(job).test,
        "SUPERVISOR_RUN": run,
        "SUPERVISOR_PUBLISH": f'sh "$MNGR_AGENT_STATE_DIR/{PUBLISH}"',
    }


def reporting(own: Mapping[str, str], plugins: str, socket: str) -> dict[str, str]:
    """The variables that load our reporter into every pytest; in an agent's run, nothing listens to it."""
    return {
        PYTHON_PATH: ":".join(filter(None, [plugins, own.get(PYTHON_PATH)])),
        "PYTEST_PLUGINS": ",".join(filter(None, [REPORTER, own.get("PYTEST_PLUGINS")])),
        "SUPERVISOR_REPORTS": socket,
    }


def role_of(batch: Batch, job: int) -> Role:
    if job == INTEGRATOR:
        return "integrator"
    return "writer" if batch.role == "writer" else "tester"


def run_command(profile: Profile, *tests: str, times: int = 1, whole: bool = False) -> str:
    """The exact command that runs a case within its timeout, or several within `times` that. It uses `timeout`, which
    works with any plugins of the target. `whole`: run these files completely, whatever was selected at submit."""
    limit = f"{profile.test_timeout_seconds * times:g}"
    args = [*without_selection(profile.pytest_args), "--maxfail=0"] if whole else without_paths(profile.pytest_args)
    command = shlex.join(["timeout", "-k", "5", limit, *profile.pytest, *args, *tests])
    return f"{NO_TMUX} {_python_path(profile)}{command}"


def _python_path(profile: Profile) -> str:
    """PYTHONPATH for the shell, relative to the folder that the command runs in."""
    if not profile.python_path:
        return ""
    folders = ":".join(
        f'"$PWD"/{shlex.quote(folder)}' if folder != "." else '"$PWD"' for folder in profile.python_path
    )
    return f'{PYTHON_PATH}={folders}"${{{PYTHON_PATH}:+:${PYTHON_PATH}}}" '


class _Argument(NamedTuple):
    kind: _Kind
    words: tuple[str, ...]


def without_paths(args: Sequence[str]) -> list[str]:
    """pytest's arguments without paths of tests, and without options that would deselect some of the named tests."""
    return [word for each in _arguments(args) if each.kind in ("rule", "other") for word in each.words]


def without_selection(args: Sequence[str]) -> list[str]:
    """pytest's arguments without anything that would leave a test out."""
    return [word for each in _arguments(args) if each.kind == "other" for word in each.words]


def _arguments(args: Sequence[str]) -> Iterator[_Argument]:
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "--":
            continue
        if not word.startswith("-") or word == "-":
            yield _Argument("path", (word,))
        elif word.startswith("--"):
            yield _long(word, rest)
        else:
            yield from _short(word, rest)


def _long(word: str, rest: list[str]) -> _Argument:
    name, has_value, _ = word.partition("=")
    if name in _ORDERS | _FLAGS:
        return _Argument("order" if name in _ORDERS else "other", (word,))
    kind: _Kind = "rule" if name in _RULES else "order" if name in _ORDERS_WITH_VALUE else "other"
    if not has_value and rest and not rest[0].startswith("-") and (kind != "other" or "::" not in rest[0]):
        return _Argument(kind, (word, rest.pop(0)))
    return _Argument(kind, (word,))


def _short(word: str, rest: list[str]) -> Iterator[_Argument]:
    """Short options may be combined, as in `-xvk one`: the first that takes a value takes the rest."""
    for place, letter in enumerate(word[1:], 1):
        if letter not in _SHORT_WITH_VALUE:
            yield _Argument("order" if letter == "x" else "other", (f"-{letter}",))
            continue
        kind: _Kind = "rule" if f"-{letter}" in _RULES else "other"
        value = word[place + 1 :]
        yield _Argument(kind, (f"-{letter}{value}",) if value else (f"-{letter}", *rest[:1]))
        if not value:
            del rest[:1]
        return
