"""What is judged: the files that work changes, and what is known of the repository that it began with."""

from dataclasses import dataclass

FILE, EXECUTABLE = 0o100644, 0o100755


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    #: None: there is no such file
    before: str | None = None
    after: str | None = None
    #: as git has them
    mode_before: int = FILE
    mode_after: int = FILE


@dataclass(frozen=True, slots=True)
class Base:
    #: of the file that holds the job's test
    text: str = ""
    #: of all its files; empty: not known
    paths: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Breach:
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A sentence for the reviewer. What is observed may settle it, and then it is dropped:

    strength    the new test catches each fault that the old one caught
    ignorance   the verdict is the same where nothing tells a test run from another
    necessity   without this file the test fails
    """

    sentence: str
    settled_by: str = ""

    def __str__(self) -> str:
        return self.sentence
