"""What mngr is asked for on behalf of an attempt: the agent contract, as environment, files and a branch."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from supervisor.adapters.layout import FOLDER, OUTCOME, PROMPT, PUBLISH, Layout
from supervisor.adapters.prompts import render, values_of
from supervisor.errors import Misconfigured
from supervisor.model.attempt import Attempt
from supervisor.model.batch import Batch, Profile
from supervisor.ports import ATTEMPT, BATCH, INSTALLATION, JOB, AgentOrder, Place

#: The branch of a batch's source checkout that its agents start from.
BASE_BRANCH = "base"

CREDENTIAL = "credential:"

#: Added when the machine where the agent runs has no git identity.
IDENTITY = (
    "git config user.name >/dev/null || git config user.name 'agent-supervisor'",
    "git config user.email >/dev/null || git config user.email 'agent-supervisor@localhost'",
)


#: What an agent that is talked to is told first; the prompt itself may be longer than a terminal takes.
FIRST_WORDS = 'Read the file that "$SUPERVISOR_PROMPT" names, and do what it says.'


@dataclass(frozen=True, slots=True)
class Program:
    """The mngr type, its arguments, and what it needs on its host before it starts."""

    type: str
    args: tuple[str, ...]
    files: Mapping[str, Path] = field(default_factory=dict)
    provision: tuple[str, ...] = ()


class ContractOrders:
    def __init__(self, layout: Layout, installation: str, credentials: Path | None) -> None:
        self._layout, self._installation, self._credentials = layout, installation, credentials
        self._agents = Path(str(files("supervisor.agents")))

    def order(self, batch: Batch, attempt: Attempt) -> AgentOrder:
        profile, key = batch.profile, attempt.key
        program = self._program(profile, attempt)
        return AgentOrder(
            id=attempt.agent_id,
            name=attempt.agent_name,
            place=Place(attempt.provider, attempt.host, attempt.new_host),
            type=program.type,
            args=program.args,
            source=self._layout.batch(batch.id) / "source",
            base=BASE_BRANCH,
            branch=f"supervisor/{key.batch}/{key.job}-{key.attempt}",
            transfer="git-worktree" if profile.transfer == "git-worktree" else "git-mirror",
            labels={
                INSTALLATION: self._installation,
                BATCH: key.batch,
                JOB: str(key.job),
                ATTEMPT: str(key.attempt),
            },
            env={**self._contract(batch, attempt), **self._extra(profile)},
            state_dir_env={"SUPERVISOR_PROMPT": PROMPT, "SUPERVISOR_OUTCOME": OUTCOME},
            files={PROMPT: self._prompt(batch, attempt), PUBLISH: self._agents / "publish", **program.files},
            provision=(*IDENTITY, *program.provision, *([profile.setup] if profile.setup else [])),
            message="" if program.type == "command" else FIRST_WORDS,
        )

    def _program(self, profile: Profile, attempt: Attempt) -> Program:
        match profile.agent:
            case "rehearsal" if attempt.provider == "local":
                return Program("command", (str(self._agents / "rehearsal.py"), *profile.agent_args))
            case "rehearsal":
                return self._rehearsal_elsewhere(profile)
            case "command":
                return Program("command", profile.command + profile.agent_args)
            case _:
                return Program(profile.agent, profile.agent_args)

    def _rehearsal_elsewhere(self, profile: Profile) -> Program:
        """mngr quotes every word of a command, so its program must be found from the work directory."""
        carried = {
            f"{FOLDER}/rehearsal.py": self._agents / "rehearsal.py",
            f"{FOLDER}/defects.json": self._agents.parent / "rehearsal" / "defects.json",
        }
        copies = " ".join(f'"$MNGR_AGENT_STATE_DIR/{name}"' for name in carried)
        return Program("command", (".git/rehearsal.py", *profile.agent_args), carried, (f"cp {copies} .git/",))

    def _contract(self, batch: Batch, attempt: Attempt) -> dict[str, str]:
        job = batch.job(attempt.key.job)
        return {
            "SUPERVISOR_BATCH": batch.id,
            "SUPERVISOR_JOB": batch.job_id(job.number),
            "SUPERVISOR_ATTEMPT": str(attempt.key.attempt),
            "SUPERVISOR_ROLE": "tester",
            "SUPERVISOR_BASE": batch.base,
            "SUPERVISOR_TEST": job.test,
            "SUPERVISOR_RUN": run_command(batch.profile, job.test),
            "SUPERVISOR_PUBLISH": f'sh "$MNGR_AGENT_STATE_DIR/{PUBLISH}"',
        }

    def _extra(self, profile: Profile) -> dict[str, str]:
        return {name: self._value(name, value) for name, value in profile.env.items()}

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

    def _prompt(self, batch: Batch, attempt: Attempt) -> Path:
        path = self._layout.attempt(attempt.key) / "prompt.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        values = values_of(batch, attempt, run_command(batch.profile, batch.job(attempt.key.job).test))
        path.write_text(render("tester", values, batch.profile.prompts), errors="backslashreplace")
        return path


def run_command(profile: Profile, *tests: str) -> str:
    """The exact command that runs a test within its time; `timeout` works whatever plugins the target has."""
    limit = f"{profile.test_timeout_seconds:g}"
    return shlex.join(["timeout", "-k", "5", limit, *profile.pytest, *profile.pytest_args, *tests])


def credentials_directory() -> Path | None:
    """Where systemd puts the service's credentials: readable by the daemon, inherited by nobody."""
    found = os.environ.get("CREDENTIALS_DIRECTORY")
    return Path(found) if found else None
