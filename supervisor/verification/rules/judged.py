"""The values that rules judge: the files that work changes, and the repository at the base."""

from dataclasses import dataclass

FILE, EXECUTABLE = 0o100644, 0o100755


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    #: None: the file does not exist
    before: str | None = None
    after: str | None = None
    #: file modes as in git
    mode_before: int = FILE
    mode_after: int = FILE


@dataclass(frozen=True, slots=True)
class Base:
    #: the text of the file with the job's test
    text: str = ""
    #: the paths of all its files; empty: unknown
    paths: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Breach:
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A sentence for the reviewer. An observation may settle it, and then it is dropped:

    strength    the new test catches each fault that the old one caught
    ignorance   the verdict is the same if nothing distinguishes a test run from another run
    equality    the test fails if it expects something else
    necessity   without this file the test fails
    """

    sentence: str
    settled_by: str = ""

    def __str__(self) -> str:
        return self.sentence
