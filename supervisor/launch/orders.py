"""What mngr is asked for on behalf of an attempt: the agent contract, as environment, files and a branch."""

import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from supervisor.adapters.layout import (
    FOLDER,
    INTEGRATION,
    OUTCOME,
    PLUGINS,
    POLICY,
    POLICY_SETTINGS,
    PROMPT,
    PUBLISH,
    TASK,
    Layout,
)
from supervisor.e2e.tutorial.writing import Task
from supervisor.errors import Misconfigured
from supervisor.kinds import Start, kind_of
from supervisor.launch.contract import (
    PYTHON_PATH,
    REPORTER,
    REPORTER_FILES,
    contract,
    reporting,
    role_of,
    run_command,
)
from supervisor.launch.prompts import render, values_of
from supervisor.model.attempt import Attempt
from supervisor.model.batch import Batch, Profile
from supervisor.model.job import INTEGRATOR
from supervisor.ports import ATTEMPT, BATCH, INSTALLATION, JOB, AgentOrder, Place

#: The branch of a batch's source checkout that its agents start from.
BASE_BRANCH = "base"

CREDENTIAL = "credential:"

DEFAULT_TMPDIR = "/tmp"

#: Added when the machine where the agent runs has no git identity.
IDENTITY = (
    "git config user.name >/dev/null || git config user.name 'agent-supervisor'",
    "git config user.email >/dev/null || git config user.email 'agent-supervisor@localhost'",
)


#: writes what the publish tool judges work by: for a profile and a test, the rules and what they are to know
type Advise = Callable[[Profile, str, Path, Path], None]


class ContractOrders:
    def __init__(self, layout: Layout, installation: str, credentials: Path | None, advise: Advise) -> None:
        self._layout, self._installation, self._credentials = layout, installation, credentials
        self._advise = advise
        self._agents = Path(str(files("supervisor.agents")))

    def order(self, batch: Batch, attempt: Attempt) -> AgentOrder:
        profile, key = batch.profile, attempt.key
        kind = kind_of(profile.agent)
        program = kind.program(Start(profile, attempt.provider, role_of(batch, key.job), FOLDER))
        extra = self._extra(profile, key.job)
        reports = reporting(extra, PLUGINS, attempt.agent_id[-16:])
        python_path = reports.pop(PYTHON_PATH)
        return AgentOrder(
            id=attempt.agent_id,
            name=attempt.agent_name,
            place=Place(attempt.provider, attempt.host, attempt.new_host),
            type=program.type,
            args=program.args,
            source=self._source(batch, key.job),
            base=BASE_BRANCH,
            branch=f"supervisor/{key.batch}/{key.job}-{key.attempt}",
            transfer="git-worktree" if profile.transfer == "git-worktree" else "git-mirror",
            labels={
                INSTALLATION: self._installation,
                BATCH: key.batch,
                JOB: str(key.job),
                ATTEMPT: str(key.attempt),
            },
            env={
                **self._contract(batch, attempt),
                **program.env,
                **extra,
                **reports,
            },
            state_dir_env={"SUPERVISOR_PROMPT": PROMPT, "SUPERVISOR_OUTCOME": OUTCOME, PYTHON_PATH: python_path},
            files={
                **self._pages(batch, attempt),
                PUBLISH: self._agents / "publish",
                **{f"{PLUGINS}/{REPORTER}/{name}": self._agents / REPORTER / name for name in REPORTER_FILES},
                **program.files,
            },
            provision=(*IDENTITY, *program.provision, *([profile.setup] if profile.setup else [])),
            message=kind.first_words,
            settings=program.settings,
        )

    def _contract(self, batch: Batch, attempt: Attempt) -> dict[str, str]:
        key = attempt.key
        temporary = os.environ.get("TMPDIR", DEFAULT_TMPDIR) if attempt.provider == "local" else DEFAULT_TMPDIR
        return {"TMPDIR": temporary, **contract(batch, key.job, key.attempt, self._run(batch, key.job))}

    def _source(self, batch: Batch, job: int) -> Path:
        """An integrator's agent starts from the machine's branch."""
        return (
            self._layout.batch(batch.id) / "source"
            if job != INTEGRATOR
            else self._layout.integration_source(batch.id, batch.integrations)
        )

    def _run(self, batch: Batch, job: int) -> str:
        if job != INTEGRATOR:
            return _run(batch, job)
        asked = msgspec.json.decode(
            self._layout.integration_task(batch.id, batch.integrations).read_bytes(), type=dict[str, Any]
        )
        return str(asked["run"])

    def _extra(self, profile: Profile, job: int) -> dict[str, str]:
        """What may push goes to the integrator's agent, and to no other."""
        env = {**profile.env, **profile.integrator_env} if job == INTEGRATOR else profile.env
        return {name: self._value(name, value) for name, value in env.items()}

    def _value(self, name: str, value: str) -> str:
        if not value.startswith(CREDENTIAL):
            return value
        credential = value.removeprefix(CREDENTIAL)
        if self._credentials is None or "/" in credential:
            raise Misconfigured(f"{name} wants the credential {credential}, and there is no directory of credentials")
        try:
            return (self._credentials / credential).read_text().rstrip("\n")
        except OSError as error:
            raise Misconfigured(f"{name} wants the credential {credential}: {error.strerror}") from error

    def _pages(self, batch: Batch, attempt: Attempt) -> dict[str, Path]:
        """The prompt, and for a writer or an integrator its task beside it."""
        folder, job = self._layout.attempt(attempt.key), attempt.key.job
        folder.mkdir(parents=True, exist_ok=True)
        prompt, task = folder / "prompt.md", folder / Path(TASK).name
        role = role_of(batch, job)
        text = render(role, values_of(batch, attempt, self._run(batch, job)), batch.profile.prompts)
        prompt.write_text(text, errors="backslashreplace")
        if role == "integrator":
            return {PROMPT: prompt, INTEGRATION: self._layout.integration_task(batch.id, batch.integrations)}
        if role != "writer":
            return {PROMPT: prompt, **self._advice(batch, job, folder)}
        task.write_text(batch.tasks[job - 1])
        return {PROMPT: prompt, TASK: task}

    def _advice(self, batch: Batch, job: int, folder: Path) -> dict[str, Path]:
        """What the publish tool judges work by, before the daemon does."""
        rules, settings = self._layout.state_dir / "policy.pyz", folder / Path(POLICY_SETTINGS).name
        self._advise(batch.profile, batch.job(job).test, rules, settings)
        return {POLICY: rules, POLICY_SETTINGS: settings}


def _run(batch: Batch, job: int) -> str:
    """What an agent runs its test by. A writer's tests may be still to come: it adds their names; a seed has none."""
    if batch.role != "writer":
        return run_command(batch.profile, batch.tests[job - 1], times=batch.cases_of(job))
    task = msgspec.json.decode(batch.tasks[job - 1], type=Task)
    match task.kind:
        case "seed":
            return ""
        case "block":
            return run_command(batch.profile)
        case "stale":
            return run_command(batch.profile, task.test)
