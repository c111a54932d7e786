"""Where things are under the state directory."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from supervisor.model.attempt import AttemptKey


@dataclass(frozen=True, slots=True)
class Layout:
    state_dir: Path

    @property
    def journal(self) -> Path:
        return self.state_dir / "journal.sqlite3"

    @property
    def repos(self) -> Path:
        return self.state_dir / "repos"

    def batch(self, batch: str) -> Path:
        return self.state_dir / "batches" / batch

    def at_base(self, batch: str, survey: int, file: str, pool: str = "") -> Path:
        """What a test file of the batch came to at its base, in the survey of this number: here, or in that pool."""
        told = f"{pool}\0{file}" if pool else file
        name = sha256(told.encode(errors="replace")).hexdigest()[:24]
        return self.batch(batch) / "base" / str(survey) / f"{name}.z"

    def recorded_at_base(self, batch: str, survey: int, file: str) -> Path:
        """The recordings of that, made on this machine."""
        return self.at_base(batch, survey, file).with_suffix(".recordings")

    def integration(self, batch: str, number: int) -> Path:
        """What is kept of an integration under way: what each of its steps came to."""
        return self.batch(batch) / "integrations" / str(number)

    def attempt(self, key: AttemptKey) -> Path:
        """What is kept of an attempt: its prompt, and what it published."""
        return self.batch(key.batch) / "attempts" / f"{key.job}-{key.attempt}"

    def recordings(self, key: AttemptKey) -> Path:
        """Those of its agent's runs, and of the runs of its verification."""
        return self.attempt(key) / "recordings"

    def earlier(self, key: AttemptKey) -> Path:
        """What the attempt begins with beside the base: a patch; not there: nothing."""
        return self.attempt(key) / "earlier.patch"


#: What the agent finds, and leaves, under its own state directory.
FOLDER = "supervisor"
PUBLISHED, RESCUED, RESCUED_BUNDLE, PIECE, PROMPT, OUTCOME, PUBLISH, TASK, INTEGRATION, PLUGINS = (
    f"{FOLDER}/{name}"
    for name in (
        "published.tar",
        "rescued.tar",
        "rescued.bundle",
        "rescued.piece",
        "prompt.md",
        "outcome.json",
        "publish",
        "task.json",
        "integration.json",
        "plugins",
    )
)
#: what an agent that was put away had done, for the next one of its job
EARLIER = f"{FOLDER}/earlier.patch"
#: the rules of policy, for the publish tool, and what they are to know of one job
POLICY, POLICY_SETTINGS = f"{FOLDER}/policy.pyz", f"{FOLDER}/policy.json"
