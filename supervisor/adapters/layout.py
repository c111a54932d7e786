"""Where things are under the state directory."""

from dataclasses import dataclass
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

    def integration(self, batch: str, number: int) -> Path:
        """What is kept of an integration under way: what each of its steps came to."""
        return self.batch(batch) / "integrations" / str(number)

    def attempt(self, key: AttemptKey) -> Path:
        """What is kept of an attempt: its prompt, and what it published."""
        return self.batch(key.batch) / "attempts" / f"{key.job}-{key.attempt}"


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
#: the rules of policy, for the publish tool, and what they are to know of one job
POLICY, POLICY_SETTINGS = f"{FOLDER}/policy.pyz", f"{FOLDER}/policy.json"
