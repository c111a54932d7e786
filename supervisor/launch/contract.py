"""The agent contract: who an agent is, the command that runs its test, and the reporter that each run loads. Pure."""

import shlex
from collections.abc import Mapping

from supervisor.adapters.layout import PUBLISH
from supervisor.launch.selecting import without_paths, without_selection
from supervisor.model.batch import Batch, Profile, Role
from supervisor.model.job import INTEGRATOR

#: the plugin of pytest that reports to the daemon
REPORTER = "supervisor_reports"
REPORTER_FILES = ("__init__.py", "telling.py", "watching.py")
PYTHON_PATH = "PYTHONPATH"

#: A test that speaks to tmux speaks to no server that agents live in, unless it looks for it.
NO_TMUX = "env -u TMUX -u TMUX_PANE"


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
