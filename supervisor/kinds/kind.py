"""The interface of a kind of agent, with the defaults for an unknown kind.

A kind is one module in this folder: a subclass that overrides what differs, and an entry in `KINDS`. The rest of the
daemon names no kind and uses this interface: how an agent is launched, gets walls and logs in (`program`, `walled`,
`environment`, `login`), its first message (`first_words`), how to deny its questions (`refusal`), how to read its
lines, tokens and hindrances (`transcript`, `counted`), its current state (`is_amid_turn`, `asks`, `dialog`), and what
`doctor` checks.
Whether messages are sent to it at all is decided in the pure core (`model.batch.PROGRAMS`).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.model.profile import Profile, Role
from supervisor.ports import AgentOrder
from supervisor.transcripts.entries import Counted, Reading
from supervisor.transcripts.tail import EVENTS

#: A file, because the prompt may be too long to type into a terminal.
FIRST_WORDS = 'Read the file that "$SUPERVISOR_PROMPT" names, and do what it says.'
#: Marker files that mngr's plugins keep in an agent's state directory: a turn is in progress; it asks for permission.
ACTIVE, ASKS = "active", "permissions_waiting"
#: The variables that programs of each API read, by the gate's address and a key.
DETOURS: Mapping[str, Callable[[str, str], dict[str, str]]] = {
    "anthropic": lambda url, key: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": key},
    "openai": lambda url, key: {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": key},
}
#: the pane of an agent's screen
PANE = 'tmux list-panes -a -f "#{==:#{@mngr_agent_id},$MNGR_AGENT_ID}" -F "#{pane_id}" | head -n 1'
#: Denies whatever an agent asks for on its screen, by Escape. claude removes its marker file after any other answer,
#: but not after Escape, and mngr sends no message while it exists; so it is removed here.
ESCAPE = f'{PANE} | xargs -I{{}} tmux send-keys -t {{}} Escape && rm -f "$MNGR_AGENT_STATE_DIR/{ASKS}"'


@dataclass(frozen=True, slots=True)
class Start:
    """What to launch, and where."""

    profile: Profile
    provider: str
    role: Role = "tester"
    #: the folder below the agent's state directory that the daemon uploads files to
    folder: str = "supervisor"

    @property
    def is_here(self) -> bool:
        return self.provider == "local"


@dataclass(frozen=True, slots=True)
class Program:
    """The mngr type, its arguments, what to provision on its host before it starts, and its environment."""

    type: str
    args: tuple[str, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    provision: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    #: settings of mngr, for this agent alone
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Detour:
    """What makes an agent call the gate instead of its provider."""

    env: Mapping[str, str]
    args: tuple[str, ...] = ()
    #: variables that would bypass the gate
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Login:
    """How an agent authenticates to its model provider."""

    #: variables of a profile's `env`; any one is enough
    variables: frozenset[str]
    #: the file that a login writes, below the home of agents
    file: str
    #: the command that logs in
    command: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """Where a kind's transcript is, below an agent's state directory."""

    #: its own lines, as assembled by mngr's plugin: `logs/NAME_transcript`
    own: str
    #: the plugin's conversion to ATIF, which is later: a source below `events`
    converted: str
    reading: type[Reading]
    #: whether tokens are counted from the converted lines instead of its own
    is_counted_converted: bool = False

    def path(self, folder: Path) -> Path:
        return folder / self.own / EVENTS


@dataclass(frozen=True, slots=True)
class Doubt:
    """A warning of `doctor`, and what to do about it."""

    message: str
    hint: str


class Kind:
    """The defaults for any agent type of mngr."""

    #: its arguments if the profile sets none
    args: tuple[str, ...] = ()
    #: its first message; "" for a program that reads none
    first_words: str = FIRST_WORDS
    #: the program that must be on its host's PATH; "": none
    executable: str = ""
    #: the package of mngr's plugin for this kind
    plugin: str = ""
    #: the hosts of its model's API, which a firewall must allow
    hosts: tuple[str, ...] = ()
    #: the APIs by which it calls its model, of those that the gate supports; (): it can't use the gate
    apis: tuple[str, ...] = ()
    login: Login | None = None
    transcript: Transcript | None = None
    #: matches the last line of its screen while a dialog is open
    dialog: re.Pattern[str] | None = None
    #: a shell command, run on its host, that denies what it asks for
    refusal: str = ESCAPE
    #: whether an agent of this machine can have walls around it, see `walled`
    has_walls: bool = False
    #: what it reads of this machine inside the walls, beside its program
    reads: tuple[Path, ...] = ()
    #: files below its state directory that change while it works: signs of activity
    signs: tuple[str, ...] = (ACTIVE,)

    def __init__(self, name: str) -> None:
        self.name = name

    def program(self, start: Start) -> Program:
        return Program(self.name, start.profile.agent_args, env=self.environment(start.provider))

    def environment(self, provider: str) -> Mapping[str, str]:
        """Its default environment, also used for verification; a profile's `env` overrides it."""
        return {}

    def detour(self, url: str, key: str, env: Mapping[str, str]) -> Detour:
        """The detour by the gate at `url`, with its own `key`; `env`: its profile's. Only for a kind with `apis`."""
        return Detour({name: value for api in self.apis for name, value in DETOURS[api](url, key).items()})

    def walled(self, order: AgentOrder, keeper: tuple[str, ...]) -> AgentOrder:
        """The order with walls around the agent; `keeper` starts a program inside them. Only if `has_walls`.
        Programs of mngr that run for the agent outside the walls must not use what the agent writes."""
        raise NotImplementedError

    def counted(self, folder: Path) -> list[Counted]:
        """The usage of a stopped agent, from files that are not followed while it runs."""
        return []

    def is_amid_turn(self, folder: Path) -> bool:
        return (folder / ACTIVE).exists()

    def asks(self, folder: Path) -> bool | None:
        """Whether it asks for permission; None: its files do not tell, so mngr is asked."""
        return (folder / ASKS).exists()

    def doubts(self, profile: Profile, is_root: bool) -> Iterator[Doubt]:
        """Warnings about a profile that uses this kind; `is_root`: its agents run as root."""
        yield from ()
