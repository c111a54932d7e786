"""The messages of commits that take another one out of a branch, or put it back: as git words them. Pure."""

import re

from supervisor.integration.rules.messages import MAX_SUBJECT, MAX_SUMMARY, trailers_in, unlinked
from supervisor.model.review import Reversal

_PREFIX = {False: "Revert", True: "Reapply"}
#: git's own words, which people's reverts have, too
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{40})\b")
_REAPPLIES = re.compile(r"This reapplies commit ([0-9a-f]{40})\b")


def message(batch: str, reversal: Reversal, original: str) -> str:
    """`original`: the message of the commit that is taken out or put back."""
    subject, jobs = original.partition("\n")[0], trailers_in(original)[0]
    said = "reapplies" if reversal.is_back else "reverts"
    parts = [
        f'{_PREFIX[reversal.is_back]} "{_cut(subject, MAX_SUBJECT)}"',
        f"This {said} commit {reversal.commit}.",
        unlinked(_cut(reversal.reason)),
        "\n".join(_trailers(batch, reversal, jobs)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _trailers(batch: str, reversal: Reversal, jobs: tuple[str, ...]) -> list[str]:
    what = "Restored" if reversal.is_back else "Dropped"
    return [
        f"Supervisor-Batch: {batch}",
        *(f"Supervisor-Job: {job}" for job in jobs),
        f"Supervisor-{what}: {reversal.commit}",
        f"Supervisor-Asked-By: {_cut(reversal.author) or 'unknown'}",
    ]


def undone(message: str, *, is_back: bool) -> tuple[str, ...]:
    """The commits that a commit with this message takes out, or puts back."""
    return tuple((_REAPPLIES if is_back else _REVERTS).findall(message))


def _cut(text: str, most: int = MAX_SUMMARY) -> str:
    """On one line. A subject of ours has lost what a forge would act on already."""
    line = "".join(char if char.isprintable() or char == "\u200b" else " " for char in " ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"
