"""The agent contract: who an agent is, the command that runs its test, and the reporter that each run loads. Pure.

Of pytest's arguments, some choose tests: a job names its own, and of a file that is run none may be left out.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from supervisor.adapters.layout import PUBLISH
from supervisor.model.batch import Batch, Profile, Role
from supervisor.model.job import INTEGRATOR

#: the plugin of pytest that reports to the daemon
REPORTER = "supervisor_reports"
REPORTER_FILES = ("__init__.py", "telling.py", "watching.py")
PYTHON_PATH = "PYTHONPATH"

#: A test that speaks to tmux speaks to no server that agents live in, unless it looks for it.
NO_TMUX = "env -u TMUX -u TMUX_PANE"

#: arguments that choose by a rule, and take a value
_RULES = {"-k", "-m", "--deselect", "--ignore", "--ignore-glob"}
#: what was seen last time, or how many fail, decides which tests are run
_ORDERS = {"--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--sw", "--stepwise"}
_ORDERS |= {"--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset", "-x", "--exitfirst"}
_ORDERS_WITH_VALUE = {"--lfnf", "--last-failed-no-failures", "--maxfail"}
#: flags of pytest's own and of its usual plugins that take no value: what follows them is a path
_FLAGS = {"-v", "-q", "-s", "-l", "-x", "-h", "-V", "--verbose", "--quiet", "--showlocals", "--no-header", "--co"}
_FLAGS |= {"--no-summary", "--strict-markers", "--strict-config", "--strict", "--no-cov", "--collect-only", "--pdb"}
_FLAGS |= {"--doctest-modules", "--full-trace", "--runxfail", "--cache-clear", "--pyargs", "--noconftest"}
_SHORT_WITH_VALUE = "kmcnporW"

type _Kind = Literal["rule", "order", "path", "other"]


def contract(batch: Batch, job: int, attempt: int, run: str) -> dict[str, str]:
    """What an agent finds in its environment, beside the paths in its own state directory."""
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
    """What loads our reporter into each pytest: in an agent's, where nobody listens, as in those that verify."""
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
    """The exact command that runs a case within its time, or several within `times` as much; `timeout` works whatever
    plugins the target has. `whole`: all of these files, whatever was selected of them at submit."""
    limit = f"{profile.test_timeout_seconds * times:g}"
    args = [*without_selection(profile.pytest_args), "--maxfail=0"] if whole else without_paths(profile.pytest_args)
    command = shlex.join(["timeout", "-k", "5", limit, *profile.pytest, *args, *tests])
    return f"{NO_TMUX} {_python_path(profile)}{command}"


def _python_path(profile: Profile) -> str:
    """As the shell reads it, below the folder that the command is run in."""
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
    """Without what names tests, and without what would run a part of those that are named."""
    return [word for each in _arguments(args) if each.kind in ("rule", "other") for word in each.words]


def without_selection(args: Sequence[str]) -> list[str]:
    """Without all that would leave a test out."""
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
    """Letters may stand together, as in `-xvk one`: the first that takes a value takes what follows."""
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
