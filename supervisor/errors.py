"""The tree of this project's errors.

SupervisorError            one sentence for a person, and a hint on what to do next
├── Refused                a request that can't be granted now, or not in this form        (exit 4)
│   └── NoSuchThing        an id, path or name that does not exist                         (exit 5)
├── Misconfigured          the configuration can't be used                                 (exit 2)
├── Unreadable             state on disk that can't be trusted: never overwrite it         (exit 2)
├── Locked                 another daemon owns this state directory                        (exit 4)
├── Unreachable            the daemon does not answer                                      (exit 3)
├── ImpossibleTransition   an event that the state does not allow: late, duplicate, or a bug
└── DeviceFailed           an external program or service failed
    ├── MngrFailed         a mngr call failed; `reason` says how
    ├── GitFailed          a git command failed
    └── Hostile            an agent's data was refused: a path escape, a bomb, a wrong ref
"""


class SupervisorError(Exception):
    """The base class of all errors; never raised itself."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint

    @property
    def code(self) -> str:
        """A stable word for programs: `no-such-thing` for NoSuchThing."""
        return "".join(f"-{c.lower()}" if c.isupper() else c for c in type(self).__name__).lstrip("-")


class Refused(SupervisorError):
    exit_code = 4


class NoSuchThing(Refused):
    exit_code = 5


class Misconfigured(SupervisorError):
    exit_code = 2


class Unreadable(SupervisorError):
    exit_code = 2


class Locked(SupervisorError):
    exit_code = 4


class Unreachable(SupervisorError):
    exit_code = 3


class ImpossibleTransition(SupervisorError):
    pass


class DeviceFailed(SupervisorError):
    pass


class MngrFailed(DeviceFailed):
    """A mngr call failed. `reason` is one of the words in `ports.MngrReason`."""

    def __init__(self, message: str, *, reason: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class GitFailed(DeviceFailed):
    pass


class Hostile(DeviceFailed):
    """`reason` is a stable word for what was refused, such as `path-escape`."""

    def __init__(self, message: str, *, reason: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason
