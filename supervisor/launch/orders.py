"""Builds the order for an attempt's agent: the agent contract as environment, files and a branch."""

import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from supervisor.adapters.gating import Gating
from supervisor.adapters.layout import (
    EARLIER,
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
from supervisor.adapters.steps import Steps
from supervisor.e2e.tutorial.writing import Task
from supervisor.errors import Misconfigured
from supervisor.kinds import Start, kind_of
from supervisor.kinds.kind import Detour
from supervisor.launch.at_base import UNKNOWN, at_base
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
from supervisor.model.batch import Batch
from supervisor.model.job import INTEGRATOR
from supervisor.model.profile import Profile
from supervisor.ports import ATTEMPT, BATCH, INSTALLATION, JOB, AgentOrder, Place

#: The branch of a batch's source checkout that agents start from.
BASE_BRANCH = "base"

CREDENTIAL = "credential:"

DEFAULT_TMPDIR = "/tmp"

#: Sets a git identity if the agent's machine has none.
IDENTITY = (
    "git config user.name >/dev/null || git config user.name 'agent-supervisor'",
    "git config user.email >/dev/null || git config user.email 'agent-supervisor@localhost'",
)
#: Applies earlier work, whole or not at all, and uncommitted. If that fails, the agent starts at the base.
APPLY = f'git apply --whitespace=nowarn "$MNGR_AGENT_STATE_DIR/{EARLIER}" || echo "earlier work does not apply" >&2'


#: writes the policy that the publish tool checks work against: its rules and data for a profile and a test
type Advise = Callable[[Profile, str, Path, Path], None]


NO_DETOUR = Detour({})


class ContractOrders:
    def __init__(
        self,
        layout: Layout,
        installation: str,
        credentials: Path | None,
        advise: Advise,
        gating: Gating | None = None,
    ) -> None:
        self._layout, self._installation, self._credentials = layout, installation, credentials
        self._advise, self._gating = advise, gating
        self._agents = Path(str(files("supervisor.agents")))

    def order(self, batch: Batch, attempt: Attempt) -> AgentOrder:
        profile, key = batch.profile, attempt.key
        kind = kind_of(profile.agent)
        program = kind.program(Start(profile, attempt.provider, role_of(batch, key.job), FOLDER))
        detour = (self._gating and self._gating.detour(batch, attempt)) or NO_DETOUR
        extra = self._extra(profile, key.job, detour)
        reports = reporting(extra, PLUGINS, attempt.agent_id[-16:])
        python_path = reports.pop(PYTHON_PATH)
        return AgentOrder(
            id=attempt.agent_id,
            name=attempt.agent_name,
            place=Place(attempt.provider, attempt.host, attempt.new_host),
            type=program.type,
            args=(*program.args, *detour.args),
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
            env={**self._contract(batch, attempt), **program.env, **extra, **reports, **detour.env},
            state_dir_env={"SUPERVISOR_PROMPT": PROMPT, "SUPERVISOR_OUTCOME": OUTCOME, PYTHON_PATH: python_path},
            files={
                **self._pages(batch, attempt),
                PUBLISH: self._agents / "publish",
                **{f"{PLUGINS}/{REPORTER}/{name}": self._agents / REPORTER / name for name in REPORTER_FILES},
                **program.files,
            },
            provision=self._provision(profile, attempt, program.provision),
            message=kind.first_words,
            settings=program.settings,
        )

    def _provision(self, profile: Profile, attempt: Attempt, of_program: tuple[str, ...]) -> tuple[str, ...]:
        """The setup comes last, because it needs the files as they are then."""
        apply = (APPLY,) if self._layout.earlier(attempt.key).exists() else ()
        return (*IDENTITY, *apply, *of_program, *([profile.setup] if profile.setup else []))

    def _contract(self, batch: Batch, attempt: Attempt) -> dict[str, str]:
        key = attempt.key
        temporary = os.environ.get("TMPDIR", DEFAULT_TMPDIR) if attempt.provider == "local" else DEFAULT_TMPDIR
        return {"TMPDIR": temporary, **contract(batch, key.job, key.attempt, self._run(batch, key.job))}

    def _source(self, batch: Batch, job: int) -> Path:
        """The integrator starts from the branch that was merged without an agent."""
        return self._layout.batch(batch.id) / "source" if job != INTEGRATOR else self._integration(batch).source

    def _integration(self, batch: Batch) -> Steps:
        return Steps(self._layout.integration(batch.id, batch.integrations.count))

    def _run(self, batch: Batch, job: int) -> str:
        if job != INTEGRATOR:
            return _run(batch, job)
        asked = msgspec.json.decode(self._integration(batch).task.read_bytes(), type=dict[str, Any])
        return str(asked["run"])

    def _extra(self, profile: Profile, job: int, detour: Detour) -> dict[str, str]:
        """`integrator_env`, which may allow a push, goes to the integrator only; agents of the gate get no key."""
        env = {**profile.env, **profile.integrator_env} if job == INTEGRATOR else profile.env
        kept = {name: value for name, value in env.items() if name not in {*detour.env, *detour.without}}
        return {name: self._value(name, value) for name, value in kept.items()}

    def _value(self, name: str, value: str) -> str:
        if not value.startswith(CREDENTIAL):
            return value
        credential = value.removeprefix(CREDENTIAL)
        if self._credentials is None or "/" in credential:
            raise Misconfigured(f"{name} needs the credential {credential}, but there is no directory of credentials")
        try:
            return (self._credentials / credential).read_text().rstrip("\n")
        except OSError as error:
            raise Misconfigured(f"{name} needs the credential {credential}: {error.strerror}") from error

    def _pages(self, batch: Batch, attempt: Attempt) -> dict[str, Path]:
        """The prompt, and the task file of a writer or an integrator."""
        folder, job = self._layout.attempt(attempt.key), attempt.key.job
        folder.mkdir(parents=True, exist_ok=True)
        prompt, task = folder / "prompt.md", folder / Path(TASK).name
        role = role_of(batch, job)
        before = at_base(self._layout, batch, job) if role == "tester" else UNKNOWN
        earlier = self._layout.earlier(attempt.key)
        found = {EARLIER: earlier} if earlier.exists() else {}
        values = values_of(batch, attempt, self._run(batch, job), before, has_earlier_work=bool(found))
        prompt.write_text(render(role, values, batch.profile.prompts), errors="backslashreplace")
        if role == "integrator":
            return {PROMPT: prompt, INTEGRATION: self._integration(batch).task}
        if role != "writer":
            return {PROMPT: prompt, **found, **self._advice(batch, job, folder)}
        task.write_text(batch.tasks[job - 1])
        return {PROMPT: prompt, **found, TASK: task}

    def _advice(self, batch: Batch, job: int, folder: Path) -> dict[str, Path]:
        """The policy that the publish tool checks work against before the daemon does."""
        rules, settings = self._layout.state_dir / "policy.pyz", folder / Path(POLICY_SETTINGS).name
        self._advise(batch.profile, batch.job(job).test, rules, settings)
        return {POLICY: rules, POLICY_SETTINGS: settings}


def _run(batch: Batch, job: int) -> str:
    """The command that runs the agent's test. A writer appends the names of new tests; a seed has no test."""
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
