"""What the daemon asks of a kind of agent, and what it takes for granted of one that it knows nothing about.

A kind is one module beside this one: a subclass that says what is different about it, and an entry in `KINDS`. All
else asks the kind and names none: how it is launched and logs in (`program`, `environment`, `login`), what it is
told (`first_words`) and how a question of its is answered with no (`refusal`), how its lines, tokens and hindrances
are read (`transcript`, `counted`), what its own files tell of it now (`is_amid_turn`, `asks`, `dialog`), and what
`doctor` looks for. Whether it is talked to at all is a fact of the pure core (`model.batch.PROGRAMS`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.model.batch import Profile, Role
from supervisor.transcripts.entries import Counted, Reading
from supervisor.transcripts.tail import EVENTS

#: The prompt itself may be longer than a terminal takes.
FIRST_WORDS = 'Read the file that "$SUPERVISOR_PROMPT" names, and do what it says.'
#: Marks that mngr's plugins keep in an agent's state directory: it works on a turn; it asks for permission.
ACTIVE, ASKS = "active", "permissions_waiting"
#: The answer to whatever an agent asks for on its screen. claude takes back its mark for any answer but this one, and
#: while it is there, mngr gives it no message.
ESCAPE = (
    'tmux list-panes -a -f "#{==:#{@mngr_agent_id},$MNGR_AGENT_ID}" -F "#{pane_id}" | head -n 1 '
    f'| xargs -I{{}} tmux send-keys -t {{}} Escape && rm -f "$MNGR_AGENT_STATE_DIR/{ASKS}"'
)


@dataclass(frozen=True, slots=True)
class Start:
    """Who is to be launched, and where."""

    profile: Profile
    provider: str
    role: Role = "tester"
    #: below the agent's state directory: what is put there for it
    folder: str = "supervisor"

    @property
    def is_here(self) -> bool:
        return self.provider == "local"


@dataclass(frozen=True, slots=True)
class Program:
    """The mngr type, its arguments, and what it needs on its host before it starts and around it when it runs."""

    type: str
    args: tuple[str, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    provision: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    #: of mngr's own configuration, for this agent alone
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Login:
    """How an agent proves to its provider who pays."""

    #: variables of a profile's `env`, each of which is enough
    variables: frozenset[str]
    #: below the home of agents: what a person's login leaves
    file: str
    #: what that person runs
    command: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """Where a kind writes down what it says and does, below an agent's state directory."""

    #: its own lines, as mngr's plugin brings them together: `logs/NAME_transcript`
    own: str
    #: what that plugin makes of them for everybody, later: a source below `events`
    converted: str
    reading: type[Reading]
    #: tokens are counted from what is converted, and not from its own lines
    is_counted_converted: bool = False

    def path(self, folder: Path) -> Path:
        return folder / self.own / EVENTS


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something `doctor` warns of, and what to do about it."""

    message: str
    hint: str


class Kind:
    """Any agent type of mngr's, as far as all of them are alike."""

    #: its arguments where a profile names none
    args: tuple[str, ...] = ()
    #: what it is told first; "" where nobody reads it
    first_words: str = FIRST_WORDS
    #: the program that must be on its host's PATH; "": none of its own
    executable: str = ""
    #: the package that teaches mngr this kind
    plugin: str = ""
    #: where its models answer: what walls around it must let through
    hosts: tuple[str, ...] = ()
    login: Login | None = None
    transcript: Transcript | None = None
    #: how the last line of its screen looks while a dialog is open
    dialog: re.Pattern[str] | None = None
    #: a shell command on its host that answers a question of its with no
    refusal: str = ESCAPE
    #: files below its state directory that change while it is at work
    signs: tuple[str, ...] = (ACTIVE,)

    def __init__(self, name: str) -> None:
        self.name = name

    def program(self, start: Start) -> Program:
        return Program(self.name, start.profile.agent_args, env=self.environment(start.provider))

    def environment(self, provider: str) -> Mapping[str, str]:
        """What it runs with unless a profile says otherwise; a verification runs with it, too."""
        return {}

    def counted(self, folder: Path) -> list[Counted]:
        """What an agent that is stopped has taken, by files that nobody follows."""
        return []

    def is_amid_turn(self, folder: Path) -> bool:
        return (folder / ACTIVE).exists()

    def asks(self, folder: Path) -> bool | None:
        """None: its files don't tell, and mngr is asked."""
        return (folder / ASKS).exists()

    def doubts(self, profile: Profile, is_root: bool) -> Iterator[Doubt]:
        """About a profile that uses it, on a machine where its agents are root or not."""
        yield from ()
