"""A change: one commit of an agent, with its kind."""

from dataclasses import dataclass

#: kinds that are squashed into one commit; any other kind gets a commit of its own
TEST_KINDS = frozenset({"FIX_TEST", "IMPROVE_TEST", "FIX_TUTORIAL", "DOC"})
IMPLEMENTATION = "FIX_IMPL"


#: the job, and its commit
type ChangeKey = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Change:
    """One commit of an agent."""

    job: int
    sha: str
    #: from the subject's `[KIND]`; "" if it has none
    kind: str
    #: without the kind; one printable line
    subject: str
    paths: tuple[str, ...]
    #: equal for equal edits, whatever their line numbers; whitespace counts
    patch_id: str
    #: equal for the same added and removed lines, in whatever file; "" if there are none
    alike_id: str = ""

    @property
    def key(self) -> "ChangeKey":
        """Two jobs may bring the same commit: same files, author and second."""
        return self.job, self.sha

    @property
    def is_test(self) -> bool:
        return self.kind in TEST_KINDS
