"""Carries over what the last batch of a profile did not get to: it comes first, and what has waited longest leads.

A batch whose budget was spent leaves jobs that no agent was launched for. Their order in that batch is kept, and
those that it had carried over itself stood first in it, so the oldest stay in front.
"""

import json
from collections.abc import Sequence
from typing import Any

from supervisor.ports import Journal

#: the last batch of the profile is looked for among so many
MOST_LOOKED = 100


async def left_over(journal: Journal, repo: str, profile: str) -> list[str]:
    """The tests of the last batch of that repository and profile that no agent was launched for."""
    for each in await journal.sealed(limit=MOST_LOOKED):
        batch = json.loads(each.status)["batch"]
        if (batch["repo"], batch["profile"]) == (repo, profile):
            rows: list[dict[str, Any]] = json.loads(each.jobs)["rows"]
            return [row["test"] for row in rows if row["outcome"] == "cancelled" and not row["attempts"]]
    return []


def first(tests: Sequence[str], left: Sequence[str]) -> list[int]:
    """The order in which these tests are submitted, as their positions."""
    place = {test: number for number, test in enumerate(left)}
    return sorted(range(len(tests)), key=lambda number: (place.get(tests[number], len(left)), number))
