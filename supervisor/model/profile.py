"""A profile: how the agents of a batch work."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from supervisor.model.denied import DENIED
from supervisor.model.policy import Policy

#: Agent types that get no messages: plain programs, which would read a message typed into their terminal as input.
#: `rehearsal` is not one of them: it plays an agent that ends its turn and reads its messages.
PROGRAMS = frozenset({"command"})

type Role = Literal["tester", "integrator", "writer"]


@dataclass(frozen=True, slots=True)
class Profile:
    """How the agents of a batch work, as resolved at submission: later edits of the configuration do not apply."""

    name: str = "default"
    agent: str = "claude"
    agent_args: tuple[str, ...] = ()
    #: for agent = "command": argv of a program that follows the agent contract
    command: tuple[str, ...] = ()
    #: in order of preference: the next one is used while one is paused or full; (): that of its kind of agent
    accounts: tuple[str, ...] = ()
    #: in order of preference: the next pool takes the overflow
    pools: tuple[str, ...] = ("local",)
    #: maximum number of agents of one batch at once; 0: limited by the pools only
    slots: int = 0
    transfer: str = "git-mirror"
    keep_agents: str = "failed"
    setup: str = ""
    #: globs of the files that decide what `setup` leaves; (): run it each time; None: lock files, and what it opens
    setup_inputs: tuple[str, ...] | None = ()
    pytest: tuple[str, ...] = ("python", "-m", "pytest")
    #: the arguments after `--` of submit, added to every test run
    pytest_args: tuple[str, ...] = ()
    #: the unit of one job, as pytest collects it: function, case, file or class
    per: str = "function"
    #: which of the tests that pytest collects become jobs: all, failed, red or changed; with changed, it is recorded
    #: what verified tests reach
    select: str = "all"
    #: the share of the tests that `changed` skips which is run all the same
    audit_share: float = 0.05
    #: folders of the repository that come first on PYTHONPATH in a test run, so that an editable install of the
    #: user's checkout does not shadow the agent's code
    python_path: tuple[str, ...] = ()
    #: environment of the agents, besides the contract's; `credential:NAME` refers to a credential file
    env: Mapping[str, str] = field(default_factory=dict)
    #: additional environment of the integrator's agent, such as credentials to push; no other agent sees it
    integrator_env: Mapping[str, str] = field(default_factory=dict)
    job_timeout_seconds: float = 3600
    stall_timeout_seconds: float = 600
    #: policy for an agent that asks for permission: notify, deny, or time-out
    on_parked: str = "notify"
    parked_timeout_seconds: float = 900
    retries: int = 1
    test_timeout_seconds: float = 120
    verify_runs: int = 2
    #: the largest number of claims that are verified together; 1: each by itself
    verify_group: int = 32
    #: what runs at the base: full (all files, beside the agents), file (when a claim needs it) or none
    survey: str = "file"
    #: if jobs fail at the base at one place of shared code, one gets an agent, and its fix is tried on the others
    hold_siblings: bool = False
    #: the pools in which claims are verified; (): each where its work was made
    verify_pools: tuple[str, ...] = ()
    #: time limit for gathering evidence, as a multiple of the time that these runs take; 0: gather none
    evidence_factor: float = 2
    #: additional tests to run on a branch: arguments for pytest; (): none; None: all tests of the packages it touches
    branch_tests: tuple[str, ...] | None = None
    #: time limit for each such run
    branch_tests_seconds: float = 600
    integrator: bool = True
    #: walls around what agents wrote when it runs in verification: auto, require or off
    sandbox: str = "auto"
    #: when what runs inside them has the network: setup, always or never
    sandbox_network: str = "setup"
    #: more paths that may be read, and that may be written
    sandbox_read: tuple[str, ...] = ()
    sandbox_write: tuple[str, ...] = ()
    #: limits of one run; of memory 0: half of the machine's
    sandbox_memory_mb: int = 0
    sandbox_processes: int = 2048
    sandbox_disk_mb: int = 8192
    #: walls around agents of this machine: auto, require or off
    agent_walls: str = "off"
    #: globs of paths that agents may edit (none: all paths), and of paths that they may never edit
    allow_paths: tuple[str, ...] = ()
    deny_paths: tuple[str, ...] = DENIED
    #: a folder of prompt templates that override the shipped ones
    prompts: str = ""
    #: "22:00-06:00": jobs start only inside it; "" for always
    window: str = ""
    #: the time zone of the window, by its IANA name
    timezone: str = "UTC"
    #: when to start the one automatic partial integration: at this share of jobs that are over, or this long after
    #: the first launch; 0: never
    integrate_share: float = 0
    integrate_after_seconds: float = 0
    #: limit for all its agents, including the integrator's, cached tokens included; 0: no limit
    budget_tokens: int = 0
    #: the same in dollars, by the table of prices
    budget_dollars: float = 0.0
    #: the same failure in so many jobs, or in this share of them, pauses the batch; 0: never
    breaker_jobs: int = 5
    breaker_share: float = 0
    #: so many jobs of a large batch must come through before the others start
    canaries: int = 0
    #: where the code of the batch's repository may go; None: anywhere
    policy: Policy | None = None

    @property
    def is_talked_to(self) -> bool:
        """Whether its agents have turns and read messages."""
        return self.agent not in PROGRAMS
